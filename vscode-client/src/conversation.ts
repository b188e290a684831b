// Follows the session that the server calls the current one.
//
// Owns which session that is and the order of what is known of it: first a snapshot, then what came
// after. Holds the folded state for the status bar; the panel folds for itself.
import * as vscode from "vscode";
import { follow, fromSnapshot } from "./fold/reduce";
import { EMPTY, type State } from "./fold/state";
import type { Agent } from "./server";
import type { ConfigResult, SnapshotResult, TrustResult, Update, UpdateParams } from "./wire";
import { message } from "./words";

/** After these in another session, that one may be the current one. */
const BEGINNINGS: ReadonlySet<Update["sessionUpdate"]> = new Set([
  "session_created",
  "session_resumed",
  "turn_started",
]);

/** Prompts of a session that a stop took from its queue. */
export interface Returned {
  sessionId: string;
  texts: readonly string[];
}

export class Conversation implements vscode.Disposable {
  readonly #snapshot = new vscode.EventEmitter<SnapshotResult>();
  readonly #updates = new vscode.EventEmitter<UpdateParams>();
  readonly #config = new vscode.EventEmitter<ConfigResult>();
  readonly #changed = new vscode.EventEmitter<State>();
  readonly #refused = new vscode.EventEmitter<string>();
  readonly #returned = new vscode.EventEmitter<Returned>();
  readonly onSnapshot = this.#snapshot.event;
  readonly onUpdates = this.#updates.event;
  readonly onConfig = this.#config.event;
  readonly onChange = this.#changed.event;
  /** Why there is no session to show, for a person. */
  readonly onRefused = this.#refused.event;
  /** Queued prompts that a stop took from the server, oldest first. */
  readonly onReturned = this.#returned.event;
  readonly #agent: Agent;
  readonly #listeners: vscode.Disposable[];
  #state: State = EMPTY;
  #choices: ConfigResult | null = null;
  /** Counts the snapshots that were asked for: only the newest one is taken. */
  #asked = 0;
  #isAsking = false;
  /** Somebody looks at the session; until then the server need not have one. */
  #isWanted = false;
  /** The server had no session to show; it may have one when something has been opened. */
  #isRefused = false;

  constructor(agent: Agent) {
    this.#agent = agent;
    const retry = () => this.#isRefused && void this.refresh();
    this.#listeners = [
      agent.onUpdate((params) => this.#take(params)),
      agent.onState((server) => server.is === "running" && void this.#reopen()),
      vscode.workspace.onDidChangeWorkspaceFolders(retry),
      vscode.window.onDidChangeActiveTextEditor(retry),
    ];
  }

  get state(): State {
    return this.#state;
  }

  /** The session's choices and what can be chosen; null before the server has said. */
  get choices(): ConfigResult | null {
    return this.#choices;
  }

  /** Null before the first snapshot, which for the server means the current session. */
  get sessionId(): string | null {
    return this.#state.sessionId || null;
  }

  /** Ask for everything of the current session anew; never rejects. */
  async refresh(): Promise<void> {
    this.#isWanted = true;
    if (this.#agent.state.is !== "running") return;
    const mine = ++this.#asked;
    this.#isAsking = true;
    try {
      const snapshot = await this.#agent.request("agent/snapshot", { sessionId: null });
      if (mine !== this.#asked) return;
      // What came while we asked is in the snapshot; what comes from here on is not.
      this.#isAsking = false;
      this.#isRefused = false;
      this.#state = fromSnapshot(snapshot);
      this.#snapshot.fire(snapshot);
      this.#changed.fire(this.#state);
      await this.configure();
    } catch (error) {
      if (mine !== this.#asked) return;
      this.#isAsking = false;
      this.#isRefused = true;
      this.#refused.fire(message(error));
    }
  }

  /** Change what is chosen, if asked to, and read what can be; never rejects. */
  async configure(change: { mode?: ConfigResult["mode"]; model?: string } = {}): Promise<void> {
    if (this.#agent.state.is !== "running") return;
    try {
      const params = { sessionId: this.sessionId, ...change };
      this.#choices = await this.#agent.request("agent/config", params);
      this.#config.fire(this.#choices);
    } catch (error) {
      void vscode.window.showErrorMessage(message(error));
    }
  }

  /** What trusting a folder switches on; with a person's yes it is trusted. */
  trust(folder: string, isAgreed = false): Promise<TrustResult> {
    return this.#agent.request("agent/trust", { folder, isAgreed });
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
    for (const one of [
      this.#snapshot,
      this.#updates,
      this.#config,
      this.#changed,
      this.#refused,
      this.#returned,
    ]) {
      one.dispose();
    }
  }

  /** A server that came up again goes on with the session that was shown. */
  async #reopen(): Promise<void> {
    const { sessionId, items } = this.#state;
    if (sessionId && items.length) {
      try {
        await this.#agent.request("agent/sessions/resume", { sessionId, continueTurn: true });
      } catch (error) {
        void vscode.window.showWarningMessage(`The session cannot go on: ${message(error)}`);
      }
    }
    if (this.#isWanted) await this.refresh();
  }

  #take(params: UpdateParams): void {
    // The person's words are told once: also while a snapshot comes, and of a session not shown.
    const texts = params.updates.flatMap(returned);
    if (texts.length) this.#returned.fire({ sessionId: params.sessionId, texts });
    if (this.#isAsking) return;
    if (params.sessionId !== this.#state.sessionId) {
      if (params.updates.some((one) => BEGINNINGS.has(one.sessionUpdate))) void this.refresh();
      return;
    }
    const state = follow(this.#state, params);
    if (state === this.#state) return;
    this.#state = state;
    this.#updates.fire(params);
    this.#changed.fire(state);
  }
}

function returned(update: Update): string[] {
  return update.sessionUpdate === "cancel_requested" ? update.returned : [];
}
