// Tells what waits for the user, and that a turn failed, while they do not see the panel.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { State } from "./fold/state";
import type { Visible } from "./status";

const SHOW = vscode.l10n.t("Show");

export class Toasts implements vscode.Disposable {
  readonly #panel: Visible;
  readonly #listeners: vscode.Disposable[];
  #before: State;

  constructor(conversation: Conversation, panel: Visible) {
    this.#panel = panel;
    this.#before = conversation.state;
    this.#listeners = [
      conversation.onChange((state) => {
        const fresh = news(this.#before, state);
        this.#before = state;
        if (fresh && !this.#panel.isVisible) void this.#tell(fresh);
      }),
    ];
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
  }

  async #tell(words: string): Promise<void> {
    const picked = await vscode.window.showWarningMessage(words, SHOW);
    if (picked === SHOW) await vscode.commands.executeCommand("agent-ls.openPanel");
  }
}

/** What happened between two states of a session that needs the user; null: nothing. */
export function news(before: State, now: State): string | null {
  const known = new Set([
    ...before.approvals.map((one) => one.approvalId),
    ...before.questions.map((one) => one.questionId),
  ]);
  const [approval] = now.approvals;
  if (approval && !known.has(approval.approvalId)) {
    return vscode.l10n.t("The agent waits for you: {0}", approval.title);
  }
  const [question] = now.questions;
  if (question && !known.has(question.questionId))
    return vscode.l10n.t("The agent asks: {0}", question.text);
  return before.sessionId === now.sessionId ? failure(before, now) : null;
}

function failure(before: State, { items }: State): string | null {
  const last = items.at(-1);
  if (last?.kind !== "end" || last.key < before.nextKey) return null;
  const isFine = last.status === "success" || last.status === "cancelled";
  return isFine ? null : vscode.l10n.t("The agent stopped: {0}", last.title);
}
