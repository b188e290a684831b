// Follows the session that the server calls the current one.
//
// Owns which session that is and the order of what is known of it: first a snapshot, then what came
// after. Holds the folded state for the status bar; the panel folds for itself.
import * as vscode from "vscode";
import { follow, fromSnapshot } from "./fold/reduce";
import { EMPTY, type State } from "./fold/state";
import type { Agent } from "./server";
import type { ConfigResult, SnapshotResult, UpdateParams } from "./wire";

export class Conversation implements vscode.Disposable {
  readonly #snapshot = new vscode.EventEmitter<SnapshotResult>();
  readonly #updates = new vscode.EventEmitter<UpdateParams>();
  readonly #config = new vscode.EventEmitter<ConfigResult>();
  readonly #changed = new vscode.EventEmitter<State>();
  readonly onSnapshot = this.#snapshot.event;
  readonly onUpdates = this.#updates.event;
  readonly onConfig = this.#config.event;
  readonly onChange = this.#changed.event;
  readonly #agent: Agent;
  readonly #listeners: vscode.Disposable[];
  #state: State = EMPTY;
  #choices: ConfigResult | null = null;
  /** Counts the snapshots that were asked for: only the newest one is taken. */
  #asked = 0;
  #isAsking = false;

  constructor(agent: Agent) {
    this.#agent = agent;
    this.#listeners = [
      agent.onUpdate((params) => this.#take(params)),
      agent.onState((server) => {
        if (server.is === "running") void this.refresh();
      }),
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

  /** Ask for everything anew, of this session or of the server's current one; never rejects. */
  async refresh(sessionId: string | null = null): Promise<void> {
    if (this.#agent.state.is !== "running") return;
    const mine = ++this.#asked;
    this.#isAsking = true;
    try {
      const snapshot = await this.#agent.request("agent/snapshot", { sessionId });
      if (mine !== this.#asked) return;
      // What came while we asked is in the snapshot; what comes from here on is not.
      this.#isAsking = false;
      this.#state = fromSnapshot(snapshot);
      this.#snapshot.fire(snapshot);
      this.#changed.fire(this.#state);
      await this.#readChoices();
    } catch (error) {
      if (mine === this.#asked) this.#isAsking = false;
      void vscode.window.showErrorMessage(`The agent's session cannot be shown: ${message(error)}`);
    }
  }

  /** Read what can be chosen, after changing it if asked to. */
  async configure(change: { mode?: ConfigResult["mode"]; model?: string }): Promise<void> {
    const params = { sessionId: this.sessionId, ...change };
    this.#choices = await this.#agent.request("agent/config", params);
    this.#config.fire(this.#choices);
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
    for (const one of [this.#snapshot, this.#updates, this.#config, this.#changed]) one.dispose();
  }

  async #readChoices(): Promise<void> {
    await this.configure({});
  }

  #take(params: UpdateParams): void {
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

/** After these in another session, that one may be the current one. */
const BEGINNINGS = new Set(["session_created", "turn_started"]);

/** What went wrong, in the words of who knows. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
