// What of the editor can go with a prompt: places, problems, a terminal's selection; as chips.
import * as vscode from "vscode";
import { toWire } from "./editor";
import type { Chip, ChipKind, Here, HereChoice } from "./messages";
import type { AnchorParams, PromptParams, PromptPart } from "./wire";

const MAX_IMAGES = 20;
const MAX_SENT = 20;
const SETTLE_MS = 100;

/** Where the user is: the cursor or the selected lines of the editor used last. */
export function anchor(): AnchorParams | null {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") return null;
  const { isEmpty, start } = editor.selection;
  return {
    uri: editor.document.uri.toString(),
    line: start.line,
    lastLine: isEmpty ? null : lastLine(editor.selection),
  };
}

/** A selection that ends before the first character of a line does not hold that line. */
function lastLine({ start, end }: vscode.Range): number {
  return end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
}

/** What the panel shows of where the user is; null when that is in no file. */
export function here(): Here | null {
  const place = anchor();
  if (!place) return null;
  const uri = vscode.Uri.parse(place.uri);
  const [line, last] = [place.line ?? 0, place.lastLine ?? null];
  const title = vscode.workspace.asRelativePath(uri);
  return {
    name: placeName(title),
    selection: last === null ? null : placeName(title, line, last),
    title,
  };
}

/** What of it goes with a prompt, as the server takes it. */
export function placed(choice: HereChoice): Pick<PromptParams, "anchor" | "editorState"> {
  if (choice === "none") return { anchor: null, editorState: false };
  const place = anchor();
  return { anchor: place && choice === "file" ? { ...place, lastLine: null } : place };
}

/** Tell where the user is, and whether a problem is there, whenever that has changed. */
export function watchHere(told: (now: Here | null) => void): vscode.Disposable {
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      told(here());
      const isThere = problemsHere().length > 0;
      void vscode.commands.executeCommand("setContext", "agent-ls.problemHere", isThere);
    }, SETTLE_MS);
  };
  const listeners = [
    vscode.window.onDidChangeActiveTextEditor(look),
    vscode.window.onDidChangeTextEditorSelection(look),
    vscode.languages.onDidChangeDiagnostics(look),
  ];
  look();
  return new vscode.Disposable(() => {
    clearTimeout(timer);
    for (const one of listeners) one.dispose();
  });
}

/** `prices.py`, `prices.py:13`, `prices.py:13-15`; the lines are 0-based. */
export function placeName(path: string, line?: number, last = line): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (line === undefined || last === undefined) return name;
  return line === last ? `${name}:${line + 1}` : `${name}:${line + 1}-${last + 1}`;
}

/**
 * The chip of a file or folder of the workspace.
 *
 * Errors: an `Error` for the user when it is none.
 */
export async function chipOf(given: vscode.Uri): Promise<Chip> {
  // A remote window's files are local here, and the page names them as its own side does.
  const uri =
    given.scheme === "vscode-remote" ? given.with({ scheme: "file", authority: "" }) : given;
  const title = vscode.workspace.asRelativePath(uri);
  if (!vscode.workspace.getWorkspaceFolder(uri)) {
    throw new Error(
      vscode.l10n.t("{0} is not in this window's folders, so the agent cannot read it.", uri.path),
    );
  }
  const { type } = await vscode.workspace.fs.stat(uri);
  const isFolder = (type & vscode.FileType.Directory) !== 0;
  const kind = isFolder ? "folder" : "file";
  const name = placeName(title) + (isFolder ? "/" : "");
  return chip(kind, name, title, { type: kind, uri: uri.toString() });
}

/** The chip of the selected lines; null when nothing is selected in a file. */
export function selectionChip(editor: vscode.TextEditor): Chip | null {
  const { document, selection } = editor;
  if (selection.isEmpty || document.uri.scheme !== "file") return null;
  const title = vscode.workspace.asRelativePath(document.uri);
  const [line, last] = [selection.start.line, lastLine(selection)];
  const name = placeName(title, line, last);
  return chip("range", name, title, {
    type: "range",
    uri: document.uri.toString(),
    line,
    lastLine: last,
  });
}

/** The chip of these problems of a file. */
export function problemsChip(uri: vscode.Uri, found: readonly vscode.Diagnostic[]): Chip {
  const title = vscode.workspace.asRelativePath(uri);
  const first = found[0]?.range.start.line;
  const place = placeName(title, found.length === 1 ? first : undefined);
  const name =
    found.length === 1
      ? vscode.l10n.t("{0}, 1 problem", place)
      : vscode.l10n.t("{0}, {1} problems", place, found.length);
  return chip("diagnostics", name, found.map((one) => one.message).join("\n"), {
    type: "diagnostics",
    uri: uri.toString(),
    diagnostics: found.map(toWire),
  });
}

/** The problems under the cursor or in the selection of the editor used last. */
export function problemsHere(): vscode.Diagnostic[] {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") return [];
  const { selection, document } = editor;
  return problemsOf(document.uri).filter((one) => one.range.intersection(selection));
}

/** What the editor shows as wrong in a file. */
export function problemsOf(uri: vscode.Uri): vscode.Diagnostic[] {
  // Our own marks, such as an edit that waits, are no problems.
  return vscode.languages
    .getDiagnostics(uri)
    .filter(
      (one) => one.source !== "agent-ls" && one.severity <= vscode.DiagnosticSeverity.Warning,
    );
}

/**
 * The chip of what is selected in the terminal.
 *
 * The editor tells a selection only by its clipboard, which is put back. Errors: an `Error` for the
 * user when nothing is selected.
 */
export async function terminalChip(): Promise<Chip> {
  const before = await vscode.env.clipboard.readText();
  let text: string;
  try {
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    text = await vscode.env.clipboard.readText();
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
  if (!text.trim()) throw new Error(vscode.l10n.t("Select something in the terminal first."));
  const name = vscode.window.activeTerminal?.name ?? "";
  return chip("terminal", name || vscode.l10n.t("terminal"), text.slice(0, 500), {
    type: "terminal",
    text,
    name,
  });
}

export const CHANGES: Chip = chip(
  "changes",
  vscode.l10n.t("changes"),
  vscode.l10n.t("What git shows as not committed"),
  { type: "changes" },
);

function chip(kind: ChipKind, name: string, title: string, part: PromptPart): Chip {
  return { kind, name, title, part };
}

/** Keeps the bytes of pictures, so that a page that was hidden still has its chips. */
export class Images {
  readonly #data = new Map<string, string>();

  keep(id: string, data: string): void {
    this.#data.set(id, data);
    const [oldest] = this.#data.keys();
    if (this.#data.size > MAX_IMAGES && oldest !== undefined) this.#data.delete(oldest);
  }

  /** Those of these chips that can be sent. */
  withoutLost(chips: readonly Chip[]): readonly Chip[] {
    return chips.filter(({ imageId }) => imageId === undefined || this.#data.has(imageId));
  }

  /** The parts of these chips. Errors: an `Error` for the user when a picture is gone. */
  parts(chips: readonly Chip[]): PromptPart[] {
    return chips.map(({ part, name, imageId }) => {
      if (imageId === undefined) return part;
      const data = this.#data.get(imageId);
      if (data === undefined) {
        throw new Error(
          vscode.l10n.t("The picture {0} was lost with the window's reload. Paste it again.", name),
        );
      }
      return { type: "image", data, name };
    });
  }
}

/** Remembers what went with the last prompts: a stop gives back their words alone. */
export class SentChips {
  #sent: { text: string; chips: readonly Chip[] }[] = [];

  add(text: string, chips: readonly Chip[]): void {
    this.#sent = [{ text, chips }, ...this.#sent].slice(0, MAX_SENT);
  }

  /** What went with a prompt; the server has written names of pictures behind its words. */
  of(returned: string): readonly Chip[] {
    const isIt = (text: string) =>
      returned === text || /^\s*\[image /.test(returned.slice(text.length));
    return this.#sent.find(({ text }) => returned.startsWith(text) && isIt(text))?.chips ?? [];
  }
}
