// The agent's open changes where they are: tinted lines, marks where lines went, a count, and keys.
//
// Holds no truth: the review says what is open. What was removed cannot be drawn between the lines
// by an extension, so a mark says how much went, and a peek shows it inset.
import * as vscode from "vscode";
import { isAt, type Review } from "./review";
import type { ReviewHunk } from "./wire";

/** For `when` clauses: the paths that have open changes. */
const CONTEXT = "agent-ls.reviewed";

export class InlineReview implements vscode.Disposable {
  readonly #review: Review;
  readonly #added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    borderWidth: "0 0 0 2px",
    borderStyle: "solid",
    borderColor: new vscode.ThemeColor("editorGutter.addedBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  readonly #removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderWidth: "1px 0 0 0",
    borderStyle: "solid",
    borderColor: new vscode.ThemeColor("editorGutter.deletedBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  readonly #item = vscode.window.createStatusBarItem(
    "agent-ls.changes",
    vscode.StatusBarAlignment.Left,
    0,
  );
  readonly #listeners: vscode.Disposable[];
  #known = "";

  constructor(review: Review) {
    this.#review = review;
    this.#item.name = vscode.l10n.t("Agent: Changes");
    this.#item.command = "agent-ls.nextChange";
    this.#listeners = [
      review.onChange(() => this.#show()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#show()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#count()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === vscode.window.activeTextEditor) this.#count();
      }),
    ];
  }

  dispose(): void {
    for (const one of [...this.#listeners, this.#added, this.#removed, this.#item]) one.dispose();
  }

  #show(): void {
    const paths = this.#review.reviewed;
    const known = JSON.stringify(paths);
    if (known !== this.#known) {
      this.#known = known;
      void vscode.commands.executeCommand("setContext", CONTEXT, paths);
    }
    for (const editor of vscode.window.visibleTextEditors) {
      const marks = marksOf(this.#review.openIn(editor.document.uri), editor.document.lineCount);
      editor.setDecorations(this.#added, marks.added);
      editor.setDecorations(this.#removed, marks.removed);
    }
    this.#count();
  }

  /** Say which of the document's changes is at the cursor, or the next one below. */
  #count(): void {
    const editor = vscode.window.activeTextEditor;
    const hunks = editor ? this.#review.openIn(editor.document.uri) : [];
    if (!editor || !hunks.length) {
      this.#item.hide();
      return;
    }
    const at = hunks.findIndex((one) => isAt(one, editor.selection.active.line));
    const total = countChanges(hunks);
    const many = total === 1 ? vscode.l10n.t("1 change") : vscode.l10n.t("{0} changes", total);
    const place = countChanges(hunks.slice(0, at + 1));
    const words = at < 0 ? many : vscode.l10n.t("{0} of {1}", place, total);
    this.#item.text = `$(diff) ${words}`;
    this.#item.tooltip = vscode.l10n.t(
      "Changes of the agent in this file. Click for the next one.",
    );
    const label =
      total === 1
        ? vscode.l10n.t("Agent: 1 change to review in this file")
        : vscode.l10n.t("Agent: {0} changes to review in this file", total);
    this.#item.accessibilityInformation = { label };
    this.#item.show();
  }
}

/** As the panel counts: what only a blank line parts is one change. */
function countChanges(hunks: readonly ReviewHunk[]): number {
  return hunks.filter((one) => !one.continues).length;
}

/** What is drawn for these changes in a document with so many lines. */
export function marksOf(
  hunks: readonly ReviewHunk[],
  lineCount: number,
): { added: vscode.Range[]; removed: vscode.DecorationOptions[] } {
  const last = lineCount - 1;
  const added = hunks
    .filter(({ line, endLine }) => endLine > line && line <= last)
    .map(({ line, endLine }) => new vscode.Range(line, 0, Math.min(endLine - 1, last), 0));
  const removed = hunks
    .filter(({ removedLines }) => removedLines > 0)
    .map(({ line, removedLines }) => {
      const at = Math.min(line, last);
      const words =
        removedLines === 1 ? vscode.l10n.t("1 line") : vscode.l10n.t("{0} lines", removedLines);
      return {
        range: new vscode.Range(at, 0, at, 0),
        renderOptions: {
          after: {
            contentText: `− ${words}`,
            margin: "0 0 0 3em",
            color: new vscode.ThemeColor("editorCodeLens.foreground"),
          },
        },
      };
    });
  return { added, removed };
}
