// The agent's changes for the panel and for key bindings: listed, decided about, shown as diffs.
//
// Holds no truth: the server is asked for the list whenever something may have changed it. The list is
// of every conversation that is open in the server, as lenses and key bindings are: what an earlier one
// left is to be decided about, too.
import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { Moment } from "./fold/state";
import type { Decide } from "./messages";
import type { Agent } from "./server";
import type { ReviewDiffResult, ReviewFileResult, ReviewHunk, ReviewTurn, Update } from "./wire";

const SCHEME = "agent-ls-review";
const SETTLE_MS = 150;
const CHANGING: ReadonlySet<Update["sessionUpdate"]> = new Set<Update["sessionUpdate"]>([
  "file_edited",
  "review_update",
  "turn_ended",
]);

export class Review implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #agent: Agent;
  readonly #changed = new vscode.EventEmitter<ReviewTurn[]>();
  readonly #texts = new Map<string, string>();
  readonly #text = new vscode.EventEmitter<vscode.Uri>();
  readonly #listeners: vscode.Disposable[];
  #timer: NodeJS.Timeout | null = null;
  #turns: ReviewTurn[] = [];

  readonly onChange = this.#changed.event;
  readonly onDidChange = this.#text.event;

  constructor(agent: Agent, conversation: Conversation) {
    this.#agent = agent;
    this.#listeners = [
      agent.onState(() => this.#soon()),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#drop(uri.toString())),
      conversation.onSnapshot(() => this.#soon()),
      agent.onUpdate(({ updates }) => {
        if (updates.some((one) => CHANGING.has(one.sessionUpdate))) this.#soon();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (this.#concerns(document.uri.toString())) this.#soon();
      }),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    ];
  }

  /** The turns that changed files, oldest first. */
  get turns(): readonly ReviewTurn[] {
    return this.#turns;
  }

  /** The paths with open changes: a remote window names its documents by other URIs than we do. */
  get reviewed(): string[] {
    const open = this.#turns.flatMap((turn) =>
      turn.files.filter(({ hunks }) => hunks.some((one) => one.state === "open")),
    );
    const paths = open.flatMap(({ location: { uri } }) =>
      uri ? [vscode.Uri.parse(uri).fsPath] : [],
    );
    return [...new Set(paths)];
  }

  /** The open changes of a document, from top to bottom. */
  openIn(uri: vscode.Uri): ReviewHunk[] {
    const wanted = uri.toString();
    const files = this.#turns.flatMap((turn) => turn.files);
    return files
      .filter(({ location }) => location.uri && written(location.uri) === wanted)
      .flatMap(({ hunks }) => hunks)
      .filter(({ state }) => state === "open")
      .sort((one, other) => one.line - other.line);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  /** Decide about changes; what became of each file. */
  async decide(asked: Decide): Promise<ReviewFileResult[]> {
    const { files } = await this.#agent.request("agent/review/decide", asked);
    await this.#refresh();
    return files;
  }

  /** Bring files back to a moment, or only say what that would come to. */
  async restore(
    sessionId: string,
    { turnId, toolCallId }: Moment,
    dryRun: boolean,
  ): Promise<ReviewFileResult[]> {
    const asked = { decision: "restore" as const, sessionId, turnId, toolCallId, dryRun };
    const { files } = await this.#agent.request("agent/review/decide", asked);
    if (!dryRun) await this.#refresh();
    return files;
  }

  /** Show a file as it is beside what a decision would have made of it. */
  async compare(path: string, uri: string | null, wanted: string | null): Promise<void> {
    const now = uri === null ? this.#document(`now/${path}`, null) : vscode.Uri.parse(uri);
    const other = this.#document(`wanted/${path}`, wanted);
    const title = vscode.l10n.t("{0} (as it is ↔ without the agent's change)", path);
    await vscode.commands.executeCommand("vscode.diff", now, other, title);
  }

  /** Show what a turn made of a file, in the editor's own diff. */
  async diff(sessionId: string, turnId: string, path: string): Promise<void> {
    const sides = await this.#agent.request("agent/review/diff", { sessionId, turnId, path });
    const before = this.#document(`${turnId}/before/${path}`, sides.before);
    const after = this.#after(turnId, path, sides);
    const title = vscode.l10n.t("{0} (the agent's)", path);
    await vscode.commands.executeCommand("vscode.diff", before, after, title);
  }

  /** Show everything that a turn changed in one diff editor; by default the last turn. */
  async diffTurn(turn = this.#turns.at(-1)): Promise<void> {
    if (!turn) throw new Error(vscode.l10n.t("The agent has changed no file yet."));
    const { sessionId, turnId } = turn;
    const files = await Promise.all(
      turn.files.map(async ({ location: { path } }) => {
        const asked = { sessionId, turnId, path };
        return { path, sides: await this.#agent.request("agent/review/diff", asked) };
      }),
    );
    const rows = files.map(({ path, sides }) => {
      const name = vscode.Uri.from({ scheme: SCHEME, path: `/${path}` });
      const before =
        sides.before === null
          ? undefined
          : this.#document(`${turnId}/before/${path}`, sides.before);
      const after = sides.after === null ? undefined : this.#after(turnId, path, sides);
      return [sides.uri === null ? name : vscode.Uri.parse(sides.uri), before, after];
    });
    await vscode.commands.executeCommand(
      "vscode.changes",
      vscode.l10n.t("Agent: {0}", turn.prompt),
      rows,
    );
  }

  /** Show the lines that the change at the cursor took away, inset below it. */
  async peekRemoved(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { line } = editor.selection.active;
    const hunk = this.openIn(editor.document.uri).find((one) => isAt(one, line));
    if (!hunk?.removedLines)
      throw new Error(vscode.l10n.t("No line of this change was taken away."));
    const { turns } = await this.#agent.request("agent/review/list", {
      sessionId: null,
      withText: true,
    });
    const hunks = turns.flatMap((turn) => turn.files.flatMap((file) => file.hunks));
    const old = hunks.find((one) => one.hunkId === hunk.hunkId)?.old ?? "";
    const name = vscode.workspace.asRelativePath(editor.document.uri);
    const removed = this.#document(`removed/${hunk.hunkId}/${name}`, old);
    const places = [new vscode.Location(removed, new vscode.Position(0, 0))];
    await vscode.commands.executeCommand(
      "editor.action.peekLocations",
      editor.document.uri,
      new vscode.Position(line, 0),
      places,
      "peek",
    );
  }

  /** Keep or undo the changes at the cursor or in the selection, or go to the next or previous. */
  async here(command: "keep" | "undo" | "next" | "previous"): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end, active } = editor.selection;
    const uri = editor.document.uri.toString();
    const isGoing = command === "next" || command === "previous";
    if (!isGoing) {
      await this.#refresh();
      const open = this.openIn(editor.document.uri);
      // What is not at the cursor is shown before it is decided about.
      if (open.length && !open.some((one) => isAt(one, start.line, end.line))) {
        return this.here("next");
      }
    }
    const where = isGoing ? { line: active.line } : { line: start.line, lastLine: end.line };
    await vscode.commands.executeCommand(`agent-ls.review.${command}`, { uri, ...where });
  }

  dispose(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const one of this.#listeners) one.dispose();
    this.#changed.dispose();
    this.#text.dispose();
  }

  /** The file where it is there, so that it can be edited in the diff; else its text. */
  #after(turnId: string, path: string, { uri, after }: ReviewDiffResult): vscode.Uri {
    if (uri !== null && after !== null) return vscode.Uri.parse(uri);
    return this.#document(`${turnId}/after/${path}`, after);
  }

  /** Forget a text that nobody looks at; a change of language closes and opens a document, too. */
  #drop(uri: string): void {
    if (vscode.workspace.textDocuments.some((one) => one.uri.toString() === uri)) return;
    this.#texts.delete(uri);
  }

  #document(name: string, text: string | null): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.#texts.set(uri.toString(), text ?? "");
    // The editor may still show what it was at another time.
    this.#text.fire(uri);
    return uri;
  }

  /** Says whether typing in a document may move changes that are listed. */
  #concerns(uri: string): boolean {
    return this.#turns.some((turn) =>
      turn.files.some(({ location, hunks }) => location.uri === uri && hunks.length > 0),
    );
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.#refresh();
    }, SETTLE_MS);
  }

  async #refresh(): Promise<void> {
    if (this.#agent.state.is !== "running") return;
    try {
      const { turns } = await this.#agent.request("agent/review/list", { sessionId: null });
      this.#turns = turns;
      this.#changed.fire(turns);
    } catch {
      // The next update asks again; what the server has to say about it is in its log.
      this.#changed.fire([]);
    }
  }
}

/** Whether a change has one of these lines; where lines only went, it is on the line below. */
export function isAt({ line, endLine }: ReviewHunk, first: number, last = first): boolean {
  return line <= last && first < Math.max(endLine, line + 1);
}

/** A URI of the server's as the editor writes it. */
function written(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}
