// The status bar item, and the context keys that key bindings and menus ask.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { State } from "./fold/state";
import type { ServerState } from "./messages";
import type { Agent } from "./server";

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem(
    "agent-ls.status",
    vscode.StatusBarAlignment.Right,
    100,
  );
  readonly #listeners: vscode.Disposable[];
  /** The keys as they were set last. */
  readonly #context = new Map<string, boolean>();

  constructor(agent: Agent, conversation: Conversation) {
    this.#item.name = "Agent";
    this.#item.command = "agent-ls.openPanel";
    const show = () => this.#show(agent.state, conversation.state);
    this.#listeners = [agent.onState(show), conversation.onChange(show)];
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

interface Shown {
  text: string;
  tooltip: string;
  colour: string | null;
}

function describe(server: ServerState, state: State): Shown {
  if (server.is === "failed") {
    const tooltip = `${server.problem}\n${server.advice}`;
    return { text: "$(error) Agent", tooltip, colour: "statusBarItem.errorBackground" };
  }
  if (server.is !== "running") {
    const tooltip = server.is === "starting" ? "The agent starts" : "The agent does not run";
    return { text: "$(circle-outline) Agent", tooltip, colour: null };
  }
  const waiting = state.approvals.length + state.questions.length;
  if (waiting) {
    const first = state.approvals[0]?.title ?? state.questions[0]?.text ?? "";
    return {
      text: "$(bell-dot) Agent waits for you",
      tooltip: `The agent waits for your answer: ${first}`,
      colour: "statusBarItem.warningBackground",
    };
  }
  const choices = [state.model || "no model chosen", state.mode].join(" · ");
  if (state.turn) {
    const step = state.turn.step ? `, step ${state.turn.step}` : "";
    return {
      text: "$(loading~spin) Agent",
      tooltip: `The agent works${step} · ${choices}`,
      colour: null,
    };
  }
  return { text: "$(sparkle) Agent", tooltip: `Open the agent · ${choices}`, colour: null };
}
