// The status bar item, and the context keys that key bindings and menus ask.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { State } from "./fold/state";
import type { ServerState } from "./messages";
import type { Review } from "./review";
import type { Agent } from "./server";
import type { ReviewTurn } from "./wire";

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem(
    "agent-ls.status",
    vscode.StatusBarAlignment.Right,
    100,
  );
  readonly #listeners: vscode.Disposable[];
  /** The keys as they were set last. */
  readonly #context = new Map<string, boolean>();

  constructor(agent: Agent, conversation: Conversation, review: Review) {
    this.#item.name = "Agent";
    this.#item.command = "agent-ls.openPanel";
    const show = () => this.#show(agent.state, conversation.state);
    this.#listeners = [
      agent.onState(show),
      conversation.onChange(show),
      review.onChange((turns) => this.#setContext("agent-ls.reviewing", hasOpen(turns))),
    ];
    show();
    this.#item.show();
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
    this.#item.dispose();
  }

  #show(server: ServerState, state: State): void {
    const isUp = server.is === "running";
    const isWaiting = isUp && state.approvals.length > 0;
    const { text, tooltip, colour } = describe(server, state);
    this.#item.text = text;
    this.#item.tooltip = tooltip;
    this.#item.accessibilityInformation = { label: tooltip };
    this.#item.backgroundColor = colour ? new vscode.ThemeColor(colour) : undefined;
    this.#setContext("agent-ls.running", isUp && state.turn !== null);
    this.#setContext("agent-ls.waiting", isWaiting);
  }

  #setContext(key: string, value: boolean): void {
    if (this.#context.get(key) === value) return;
    this.#context.set(key, value);
    void vscode.commands.executeCommand("setContext", key, value);
  }
}

function hasOpen(turns: readonly ReviewTurn[]): boolean {
  const hunks = turns.flatMap((turn) => turn.files.flatMap((one) => one.hunks));
  return hunks.some((one) => one.state === "open");
}

interface Shown {
  text: string;
  tooltip: string;
  colour: string | null;
}

function describe(server: ServerState, state: State): Shown {
  switch (server.is) {
    case "failed": {
      const tooltip = `${server.problem}\n${server.advice}`;
      return { text: "$(error) Agent", tooltip, colour: "statusBarItem.errorBackground" };
    }
    case "starting":
      return { text: "$(circle-outline) Agent", tooltip: "The agent starts", colour: null };
    case "stopped":
      return { text: "$(circle-outline) Agent", tooltip: "The agent does not run", colour: null };
    case "running":
      return describeSession(state);
  }
}

function describeSession({ approvals, questions, turn, model, mode }: State): Shown {
  const waiting = approvals[0]?.title ?? questions[0]?.text;
  if (waiting !== undefined) {
    return {
      text: "$(bell-dot) Agent waits for you",
      tooltip: `The agent waits for your answer: ${waiting}`,
      colour: "statusBarItem.warningBackground",
    };
  }
  const choices = `${model || "no model chosen"} · ${mode}`;
  if (!turn)
    return { text: "$(sparkle) Agent", tooltip: `Open the agent · ${choices}`, colour: null };
  const step = turn.step ? `, step ${turn.step}` : "";
  const tooltip = `The agent works${step} · ${choices}`;
  return { text: "$(loading~spin) Agent", tooltip, colour: null };
}
