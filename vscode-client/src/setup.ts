// The set-up: what is missing before the agent can work, and the steps that bring it.
//
// Owns what the panel's set-up page is told. Each step is done on a click and said on the page; no
// step starts by itself, and no key leaves this process but to the storage and to the server.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import { install, InstallError } from "./install";
import type { Keys } from "./keys";
import type { InstallState, SetupAction, SetupState } from "./messages";
import type { Agent } from "./server";
import type { ConfigResult } from "./wire";
import { message } from "./words";

/** What the panel needs of the set-up. */
export interface SetupHost {
  readonly state: SetupState;
  readonly onChange: vscode.Event<SetupState>;
  /** The agent is used from now on; never rejects. */
  begin(): Promise<void>;
  do(action: SetupAction): Promise<void>;
}

interface Parts {
  server: Agent & { start(): Promise<void>; restart(): Promise<void> };
  conversation: Conversation;
  keys: Keys;
  /** Where the server is installed. */
  root: string;
  log: (line: string) => void;
}

/** So many lines of an installation are shown; the log has all. */
const SHOWN_LINES = 200;
/** The page is told of new lines so often at most. */
const TELL_MS = 100;

export const NOTHING: SetupState = {
  install: { is: "idle" },
  access: null,
  isLooked: false,
  offers: null,
  problems: {},
};

export class Setup implements SetupHost, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<SetupState>();
  readonly onChange = this.#changed.event;
  readonly #parts: Parts;
  readonly #listeners: vscode.Disposable[];
  #state = NOTHING;
  #installing: AbortController | null = null;
  #telling: NodeJS.Timeout | undefined;
  /** Counts the looks at what is missing: only the newest one is taken. */
  #looks = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#listeners = [
      parts.server.onState(() => void this.#look()),
      parts.conversation.onConfig(() => void this.#look()),
    ];
    this.#setContext();
  }

  get state(): SetupState {
    return this.#state;
  }

  begin(): Promise<void> {
    return this.#parts.server.start();
  }

  async do(action: SetupAction): Promise<void> {
    switch (action.do) {
      case "cancelInstall":
        this.cancelInstall();
        return;
      case "storeKey":
        return this.storeKey(action.variable, action.key);
      case "trust":
        return this.#trust();
    }
  }

  /** Install the server and start it; never rejects, and does nothing while it is under way. */
  async install(): Promise<void> {
    if (this.#installing) return;
    const cancelling = new AbortController();
    this.#installing = cancelling;
    const lines: string[] = [];
    this.#become({ install: { is: "running", lines } });
    const onLine = (line: string) => {
      this.#parts.log(line);
      lines.push(line);
      this.#telling ??= setTimeout(() => this.#tellLines(lines), TELL_MS);
    };
    let result: InstallState = { is: "idle" };
    try {
      await install({
        root: this.#parts.root,
        from: vscode.workspace.getConfiguration("agent-ls").get("installFrom", ""),
        variables: process.env,
        proxy: vscode.workspace.getConfiguration("http").get("proxy", ""),
        onLine,
        signal: cancelling.signal,
      });
    } catch (error) {
      if (!cancelling.signal.aborted) result = failure(error, lines.slice(-SHOWN_LINES));
    }
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#installing = null;
    const isDone = result.is === "idle" && !cancelling.signal.aborted;
    if (isDone) await this.#parts.server.restart();
    this.#become({ install: result });
  }

  cancelInstall(): void {
    this.#installing?.abort();
  }

  /** Keep a key and start the server with it; what goes wrong is said on the page. */
  async storeKey(variable: string, key: string): Promise<void> {
    // The key that is missing is coming: no other listener of the storage need start the server.
    this.#become({ access: null, isLooked: false });
    try {
      await this.#parts.keys.store(variable, key);
    } catch (error) {
      await this.#look();
      this.#problem("key", vscode.l10n.t("The key was not kept: {0}", message(error)));
      return;
    }
    this.#problem("key");
    await this.#parts.server.restart();
  }

  /** Look anew at what is missing, because something outside of our sight has changed. */
  async lookAgain(): Promise<void> {
    this.#become({ access: null, isLooked: false });
    await this.#look();
  }

  dispose(): void {
    this.cancelInstall();
    clearTimeout(this.#telling);
    for (const one of this.#listeners) one.dispose();
    this.#changed.dispose();
  }

  async #trust(): Promise<void> {
    const { conversation } = this.#parts;
    try {
      for (const uri of untrusted(conversation.choices)) await conversation.trust(uri, true);
    } catch (error) {
      this.#problem("trust", message(error));
      return;
    }
    this.#problem("trust");
    await conversation.configure();
  }

  /** Find out what the chosen model needs, and while that is missing what trust would switch on. */
  async #look(): Promise<void> {
    const look = ++this.#looks;
    const config = this.#parts.conversation.choices;
    if (this.#parts.server.state.is !== "running") {
      // Another server may have other keys.
      this.#become({ access: null, isLooked: false });
    } else if (config) {
      const found = await this.#found(config).catch((error: unknown) => {
        this.#parts.log(`what is missing could not be found out: ${message(error)}`);
        return { access: null };
      });
      if (look === this.#looks) this.#become({ ...found, isLooked: true });
    }
  }

  async #found(config: ConfigResult): Promise<Pick<SetupState, "access" | "offers">> {
    const { access, offers } = this.#state;
    const folders = untrusted(config);
    const isKnown = access?.model.model === config.model && !access.problem;
    const isAsked = !isKnown || (offers !== null && offers.length !== folders.length);
    const [need, told] = await Promise.all([
      isKnown ? access : this.#access(config.model),
      isAsked ? this.#offers(folders) : offers,
    ]);
    return { access: need, offers: told };
  }

  async #access(model: string): Promise<SetupState["access"]> {
    return model ? this.#parts.server.request("agent/access", { model }) : null;
  }

  async #offers(folders: readonly string[]): Promise<SetupState["offers"]> {
    const found = await Promise.all(folders.map((uri) => this.#parts.conversation.trust(uri)));
    return found.flatMap((one) => one.folders);
  }

  #tellLines(lines: readonly string[]): void {
    this.#telling = undefined;
    if (this.#installing) {
      this.#become({ install: { is: "running", lines: lines.slice(-SHOWN_LINES) } });
    }
  }

  #problem(step: "key" | "trust", words?: string): void {
    const others = Object.entries(this.#state.problems).filter(([name]) => name !== step);
    this.#become({ problems: Object.fromEntries(words ? [...others, [step, words]] : others) });
  }

  #become(change: Partial<SetupState>): void {
    this.#state = { ...this.#state, ...change };
    this.#changed.fire(this.#state);
    this.#setContext();
  }

  /** What the walkthrough ticks off. */
  #setContext(): void {
    const { server, conversation } = this.#parts;
    const { access } = this.#state;
    const done = {
      hasServer: server.state.is === "running",
      hasModel: Boolean(conversation.choices?.model),
      hasKey: access !== null && !access.problem,
      isTrusted: conversation.choices !== null && !untrusted(conversation.choices).length,
    };
    for (const [name, value] of Object.entries(done)) {
      void vscode.commands.executeCommand("setContext", `agent-ls.${name}`, value);
    }
  }
}

function untrusted(config: ConfigResult | null): string[] {
  return config?.roots.filter((root) => !root.isTrusted).map(({ uri }) => uri) ?? [];
}

function failure(error: unknown, lines: readonly string[]): InstallState {
  const advice = error instanceof InstallError ? error.advice : vscode.l10n.t("Try again.");
  return { is: "failed", problem: message(error), advice, lines };
}
