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
import type { ReviewFileResult, ReviewTurn, Update } from "./wire";

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
    const title = `${path} (as it is ↔ without the agent's change)`;
    await vscode.commands.executeCommand("vscode.diff", now, other, title);
  }

  /** Show what a turn made of a file, in the editor's own diff. */
  async diff(sessionId: string, turnId: string, path: string): Promise<void> {
    const sides = await this.#agent.request("agent/review/diff", { sessionId, turnId, path });
    const before = this.#document(`${turnId}/before/${path}`, sides.before);
    const isThere = sides.uri !== null && sides.after !== null;
    const after = isThere
      ? vscode.Uri.parse(sides.uri as string)
      : this.#document(`${turnId}/after/${path}`, sides.after);
    await vscode.commands.executeCommand("vscode.diff", before, after, `${path} (the agent's)`);
  }

  /** Keep or undo the changes at the cursor or in the selection, or go to the next or previous. */
  async here(command: "keep" | "undo" | "next" | "previous"): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end, active } = editor.selection;
    const uri = editor.document.uri.toString();
    const isGoing = command === "next" || command === "previous";
    const where = isGoing ? { line: active.line } : { line: start.line, lastLine: end.line };
    await vscode.commands.executeCommand(`agent-ls.review.${command}`, { uri, ...where });
  }

  dispose(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const one of this.#listeners) one.dispose();
    this.#changed.dispose();
    this.#text.dispose();
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
