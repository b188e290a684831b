// Follows the session that the server calls the current one, and what all others are doing.
//
// Owns which session that is and the order of what is known of it: first a snapshot, then what came
// after. Holds the folded state for the status bar; the panel folds for itself. After a reload of
// the window it shows the same session again, in which nothing goes on by itself.
import * as vscode from "vscode";
import { follow, fromSnapshot } from "./fold/reduce";
import { followLives, type Lives, livesWith } from "./fold/live";
import { type CallItem, EMPTY, type Item, type State } from "./fold/state";
import type { ServerState } from "./messages";
import type { Agent } from "./server";
import type {
  ConfigResult,
  SnapshotResult,
  TrustResult,
  TurnTaken,
  Update,
  UpdateParams,
} from "./wire";
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

/** Where the editor keeps which session a window showed. */
const SHOWN = "agent-ls.shownSession";
/** A server that is about to end may hold its sessions for so long. */
const HELD_TRIES = 12;
const HELD_MS = 250;

interface Shown {
  sessionId: string;
  /** Its turn had not ended. */
  isBusy: boolean;
}

export class Conversation implements vscode.Disposable {
  readonly #snapshot = new vscode.EventEmitter<SnapshotResult>();
  readonly #updates = new vscode.EventEmitter<UpdateParams>();
  readonly #config = new vscode.EventEmitter<ConfigResult>();
  readonly #changed = new vscode.EventEmitter<State>();
  readonly #taken = new vscode.EventEmitter<readonly TurnTaken[]>();
  readonly #refused = new vscode.EventEmitter<string>();
  readonly #returned = new vscode.EventEmitter<Returned>();
  readonly #livesChanged = new vscode.EventEmitter<Lives>();
  readonly onSnapshot = this.#snapshot.event;
  readonly onUpdates = this.#updates.event;
  readonly onConfig = this.#config.event;
  readonly onChange = this.#changed.event;
  /** What the turns of the session took that are over. */
  readonly onTaken = this.#taken.event;
  /** Why there is no session to show, for a user. */
  readonly onRefused = this.#refused.event;
  /** Queued prompts that a stop took from the server, oldest first. */
  readonly onReturned = this.#returned.event;
  /** What sessions do has changed, of any that the server has open. */
  readonly onLives = this.#livesChanged.event;
  readonly #agent: Agent;
  readonly #memory: vscode.Memento | null;
  readonly #listeners: vscode.Disposable[];
  #state: State = EMPTY;
  #lives: Lives = new Map();
  #choices: ConfigResult | null = null;
  /** Counts the snapshots that were asked for: only the newest one is taken. */
  #asked = 0;
  #isAsking = false;
  /** Somebody looks at the session; until then the server need not have one. */
  #isWanted = false;
  /** The server had no session to show; it may have one when something has been opened. */
  #isRefused = false;
  /** The server was ended on purpose: what it left open waits for the user. */
  #wasStopped = false;
  /** The session of the last window is being opened, or has been. */
  #restored: Promise<void> | null = null;

  /** `memory` outlives the window; null: nothing does. */
  constructor(agent: Agent, memory: vscode.Memento | null = null) {
    this.#agent = agent;
    this.#memory = memory;
    this.#isWanted = this.#remembered?.isBusy ?? false;
    const retry = () => this.#isRefused && void this.refresh();
    this.#listeners = [
      agent.onUpdate((params) => this.#take(params)),
      agent.onState((server) => this.#follow(server)),
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

  /** What each session is doing that the server has open; those that rest are left out. */
  get lives(): Lives {
    return this.#lives;
  }

  /** Show another session; what runs in the one that was shown goes on. */
  async open(sessionId: string): Promise<void> {
    await this.#resume(sessionId, false);
    await this.refresh();
  }

  /** Let the turn of the session go on that was cut off. */
  async goOn(): Promise<void> {
    await this.#resume(this.#state.sessionId, true);
    await this.refresh();
  }

  /** Wait until the session of the last window is the current one again, if it can be had. */
  async ready(): Promise<void> {
    if (this.#agent.state.is === "running") await (this.#restored ??= this.#restore());
  }

  /** Ask for everything of the current session anew; never rejects. */
  async refresh(): Promise<void> {
    this.#isWanted = true;
    if (this.#agent.state.is !== "running") return;
    const mine = ++this.#asked;
    this.#isAsking = true;
    try {
      await this.ready();
      const snapshot = await this.#agent.request("agent/snapshot", { sessionId: null });
      if (mine !== this.#asked) return;
      // What came while we asked is in the snapshot; what comes from here on is not.
      this.#isAsking = false;
      this.#isRefused = false;
      const before = this.#state;
      this.#state = fromSnapshot(snapshot);
      this.#snapshot.fire(snapshot);
      this.#printAgain(before);
      this.#changed.fire(this.#state);
      this.#setLives(livesWith(this.#lives, this.#state));
      this.#remember();
      void this.#tellTaken();
      await this.configure();
    } catch (error) {
      if (mine !== this.#asked) return;
      this.#isAsking = false;
      this.#isRefused = true;
      this.#refused.fire(message(error));
    }
  }

  /** Change what is chosen, if asked to, and read what can be; never rejects. */
  async configure(
    change: { mode?: ConfigResult["mode"]; model?: string; effort?: string } = {},
  ): Promise<void> {
    if (this.#agent.state.is !== "running") return;
    try {
      const params = { sessionId: this.sessionId, ...change };
      this.#choices = await this.#agent.request("agent/config", params);
      this.#config.fire(this.#choices);
    } catch (error) {
      void vscode.window.showErrorMessage(message(error));
    }
  }

  /** What trusting a folder switches on; with a user's yes it is trusted. */
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
      this.#taken,
      this.#refused,
      this.#returned,
      this.#livesChanged,
    ]) {
      one.dispose();
    }
  }

  #follow(server: ServerState): void {
    if (server.is === "running") return void this.#reopen();
    this.#wasStopped ||= server.is !== "starting";
    this.#setLives(new Map());
  }

  /** A server that came up again shows the session again, and after a crash goes on with it. */
  async #reopen(): Promise<void> {
    const { sessionId, items } = this.#state;
    const isCrash = !this.#wasStopped;
    this.#wasStopped = false;
    if (sessionId && items.length) {
      try {
        await this.#resume(sessionId, isCrash);
      } catch (error) {
        void vscode.window.showWarningMessage(
          vscode.l10n.t("The session cannot go on: {0}", message(error)),
        );
      }
    }
    if (this.#isWanted) await this.refresh();
  }

  /** Open the session that the window showed before it was reloaded, if it can be had. */
  async #restore(): Promise<void> {
    const shown = this.#remembered;
    if (!shown || this.#state.sessionId) return;
    try {
      await this.#resume(shown.sessionId, false);
    } catch {
      // It is deleted, or another window has it: this one begins with its own, without alarm.
      if (this.#agent.state.is !== "running") this.#restored = null;
    }
  }

  async #resume(sessionId: string, continueTurn: boolean): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#agent.request("agent/sessions/resume", { sessionId, continueTurn });
        return;
      } catch (error) {
        if (!isHeld(error) || tries === HELD_TRIES) throw error;
        await new Promise((done) => setTimeout(done, HELD_MS));
      }
    }
  }

  get #remembered(): Shown | null {
    return this.#memory?.get<Shown>(SHOWN) ?? null;
  }

  /** Keep which session is shown; an empty one is not kept by the server either. */
  #remember(): void {
    const { sessionId, items, turn, cutOff } = this.#state;
    const isBusy = turn !== null || cutOff !== null;
    const was = this.#remembered;
    if (!items.length) {
      if (was) void this.#memory?.update(SHOWN, undefined);
    } else if (was?.sessionId !== sessionId || was.isBusy !== isBusy) {
      void this.#memory?.update(SHOWN, { sessionId, isBusy } satisfies Shown);
    }
  }

  /** What running commands printed is stored only at their end, so that no snapshot has it. */
  #printAgain(before: State): void {
    const { sessionId, seq, items } = this.#state;
    if (sessionId !== before.sessionId) return;
    const running = new Set(items.flatMap((one) => (isRunning(one) ? [one.id] : [])));
    const updates = before.items.flatMap((one): Update[] =>
      isRunning(one) && one.output && running.has(one.id)
        ? [
            {
              sessionUpdate: "tool_call_output",
              toolCallId: one.id,
              content: { type: "text", text: one.output },
            },
          ]
        : [],
    );
    if (!updates.length) return;
    const params = { sessionId, seq, updates };
    this.#state = follow(this.#state, params);
    this.#updates.fire(params);
  }

  #setLives(lives: Lives): void {
    if (lives === this.#lives) return;
    this.#lives = lives;
    this.#livesChanged.fire(lives);
  }

  #take(params: UpdateParams): void {
    // The user's words are told once: also while a snapshot comes, and of a session not shown.
    const texts = params.updates.flatMap(returned);
    if (texts.length) this.#returned.fire({ sessionId: params.sessionId, texts });
    this.#setLives(followLives(this.#lives, params));
    if (this.#isAsking) return;
    if (params.sessionId !== this.#state.sessionId) {
      if (params.updates.some((one) => BEGINNINGS.has(one.sessionUpdate))) {
        // Work that began before the last window's session was opened is what is to be seen.
        if (!this.#state.sessionId) this.#restored ??= Promise.resolve();
        void this.refresh();
      }
      return;
    }
    const state = follow(this.#state, params);
    if (state === this.#state) return;
    this.#state = state;
    this.#updates.fire(params);
    this.#changed.fire(state);
    this.#remember();
    if (params.updates.some((one) => one.sessionUpdate === "turn_ended")) void this.#tellTaken();
  }

  /** What turns took says more than their end; an older server does not know it. */
  async #tellTaken(): Promise<void> {
    const { sessionId, items } = this.#state;
    if (!items.length) return;
    try {
      const { turns } = await this.#agent.request("agent/turns", { sessionId });
      if (sessionId === this.#state.sessionId) this.#taken.fire(turns);
    } catch {
      // The line at the turn's end has its steps and its cost.
    }
  }
}

/** Says whether another process uses the session, as docs/protocol.md tells it. */
export function isHeld(error: unknown): boolean {
  return (error as { data?: { kind?: unknown } } | null)?.data?.kind === "session_held";
}

function isRunning(item: Item): item is CallItem {
  return item.kind === "call" && item.status === "in_progress";
}

function returned(update: Update): string[] {
  return update.sessionUpdate === "cancel_requested" ? update.returned : [];
}
