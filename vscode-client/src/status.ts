// The status bar item, and the context keys that key bindings and menus ask.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import { countRunning, countWaiting, type Lives } from "./fold/live";
import { type State, title } from "./fold/state";
import type { ServerState } from "./messages";
import type { Review } from "./review";
import type { Agent } from "./server";
import type { ReviewTurn } from "./wire";

/** As much of the panel as decides whether what waits has to be told elsewhere. */
export interface Visible {
  readonly isVisible: boolean;
  readonly onVisible: vscode.Event<boolean>;
}

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem(
    "agent-ls.status",
    vscode.StatusBarAlignment.Right,
    100,
  );
  readonly #listeners: vscode.Disposable[];
  readonly #panel: Visible;
  /** The keys as they were set last. */
  readonly #context = new Map<string, boolean>();

  constructor(agent: Agent, conversation: Conversation, review: Review, panel: Visible) {
    this.#panel = panel;
    this.#item.name = "Agent";
    const show = () => this.#show(agent.state, conversation.state, conversation.lives);
    this.#listeners = [
      agent.onState(show),
      conversation.onChange(show),
      conversation.onLives(show),
      panel.onVisible(show),
      review.onChange((turns) => this.#setContext("agent-ls.reviewing", hasOpen(turns))),
    ];
    show();
    this.#item.show();
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
    this.#item.dispose();
  }

  #show(server: ServerState, state: State, lives: Lives): void {
    const isUp = server.is === "running";
    const isWaiting = isUp && state.approvals.length > 0;
    const seen = this.#panel.isVisible ? state.sessionId : null;
    const { text, tooltip, colour } = describe(server, state, lives, seen);
    const isElsewhere = !lives.get(state.sessionId)?.waiting.size && countWaiting(lives) > 0;
    this.#item.command = isElsewhere ? "agent-ls.openWaiting" : "agent-ls.openPanel";
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

/** `seen`: the session that the visible panel shows, where what waits is told; null: none. */
export function describe(
  server: ServerState,
  state: State,
  lives: Lives,
  seen: string | null = null,
): Shown {
  switch (server.is) {
    case "failed": {
      if (server.missing) {
        return {
          text: "$(sparkle) Agent",
          tooltip: vscode.l10n.t("Set the agent up"),
          colour: null,
        };
      }
      const tooltip = `${server.problem}\n${server.advice}`;
      return { text: "$(error) Agent", tooltip, colour: "statusBarItem.errorBackground" };
    }
    case "starting":
      return {
        text: "$(circle-outline) Agent",
        tooltip: vscode.l10n.t("The agent starts"),
        colour: null,
      };
    case "stopped":
      // It starts when it is used.
      return { text: "$(sparkle) Agent", tooltip: vscode.l10n.t("Open the agent"), colour: null };
    case "running":
      return describeSessions(state, lives, seen);
  }
}

/** What all sessions do: one that waits is more urgent than those that work. */
function describeSessions(state: State, lives: Lives, seen: string | null): Shown {
  const unseen = [...lives].filter(([id]) => id !== seen);
  const waiting = unseen.flatMap(([, one]) => [...one.waiting.values()].map(({ words }) => words));
  if (waiting.length) {
    const words =
      waiting.length === 1
        ? vscode.l10n.t("Agent waits for you")
        : vscode.l10n.t("{0} wait for you", waiting.length);
    return {
      text: `$(bell-dot) ${words}`,
      tooltip: [vscode.l10n.t("The agent waits for your answer:"), ...waiting].join("\n"),
      colour: "statusBarItem.warningBackground",
    };
  }
  const choices = `${state.model || vscode.l10n.t("no model chosen")} · ${state.mode}`;
  const running = countRunning(lives);
  if (running) {
    const step = state.turn?.step;
    const one = step
      ? vscode.l10n.t("The agent works, step {0}", step)
      : vscode.l10n.t("The agent works");
    const who = running === 1 ? one : vscode.l10n.t("{0} sessions work", running);
    const text = running === 1 ? "$(loading~spin) Agent" : `$(loading~spin) Agent ${running}`;
    return { text, tooltip: `${who} · ${choices}`, colour: null };
  }
  if (state.cutOff) {
    const tooltip = vscode.l10n.t("The agent was cut off in: {0}", title(state));
    return { text: "$(debug-continue) Agent", tooltip, colour: null };
  }
  return {
    text: "$(sparkle) Agent",
    tooltip: `${vscode.l10n.t("Open the agent")} · ${choices}`,
    colour: null,
  };
}
