// What the menus of editors, the explorer and the terminal do: attach, fix, explain, write tests.
import * as vscode from "vscode";
import {
  CHANGES,
  chipOf,
  problemsChip,
  problemsHere,
  problemsOf,
  selectionChip,
  terminalChip,
} from "./attach";
import type { Chip } from "./messages";
import type { Panel } from "./panel";

type Run = (given?: unknown, more?: unknown) => Promise<void>;

/** The commands by name, without the prefix. */
export function contextCommands(panel: Panel): Record<string, Run> {
  return {
    addToAgent: async (given, more) => panel.attach(await chosen(given, more)),
    addTerminalSelection: async () => panel.attach([await terminalChip()]),
    attach: () => pick(panel),
    fix: async (given) => {
      const uri = target(given);
      const found = isActive(uri) ? problemsHere() : [];
      const problems = found.length ? found : problemsOf(uri);
      const wrong = problems.length ? [problemsChip(uri, problems)] : [];
      const words =
        problems.length === 1
          ? vscode.l10n.t("Fix this problem.")
          : vscode.l10n.t("Fix these problems.");
      const text = problems.length ? words : vscode.l10n.t("Find what is wrong here and fix it.");
      return panel.ask(text, [...wrong, ...(await place(uri))]);
    },
    explain: async (given) =>
      panel.ask(vscode.l10n.t("Explain this code."), await place(target(given))),
    writeTests: async (given) =>
      panel.ask(vscode.l10n.t("Write tests for this code."), await place(target(given))),
  };
}

/** What was chosen in the explorer, else the selection or the file of the editor. */
async function chosen(given: unknown, more: unknown): Promise<Chip[]> {
  const many = Array.isArray(more) ? more.filter(isUri) : [];
  if (many.length > 1) return Promise.all(many.map(chipOf));
  return place(target(given));
}

/** The file that a command is about. Errors: an `Error` for the user without one. */
function target(given: unknown): vscode.Uri {
  if (isUri(given)) return given;
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (!uri) throw new Error(vscode.l10n.t("Open a file first."));
  return uri;
}

function isUri(given: unknown): given is vscode.Uri {
  return given instanceof vscode.Uri;
}

function isActive(uri: vscode.Uri): boolean {
  return vscode.window.activeTextEditor?.document.uri.toString() === uri.toString();
}

/** The selected lines where the file is the active one, else the file. */
async function place(uri: vscode.Uri): Promise<Chip[]> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor && isActive(uri) ? selectionChip(editor) : null;
  return [selected ?? (await chipOf(uri))];
}

interface Choice extends vscode.QuickPickItem {
  chips: () => Promise<Chip[]>;
}

async function pick(panel: Panel): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const problems = editor ? problemsOf(editor.document.uri) : [];
  const choices: Choice[] = [
    { label: `$(files) ${vscode.l10n.t("Files and folders…")}`, chips: pickFiles },
    {
      label: `$(git-compare) ${vscode.l10n.t("Uncommitted changes")}`,
      chips: () => Promise.resolve([CHANGES]),
    },
    {
      label: `$(terminal) ${vscode.l10n.t("Selection of the terminal")}`,
      chips: async () => [await terminalChip()],
    },
  ];
  if (editor && problems.length) {
    const name = vscode.workspace.asRelativePath(editor.document.uri);
    choices.push({
      label: `$(warning) ${vscode.l10n.t("Problems of {0}", name)}`,
      chips: () => Promise.resolve([problemsChip(editor.document.uri, problems)]),
    });
  }
  const picked = await vscode.window.showQuickPick(choices, {
    title: vscode.l10n.t("Attach to the prompt"),
    placeHolder: vscode.l10n.t("In the prompt, @ names files and # symbols"),
  });
  if (picked) await panel.attach(await picked.chips());
}

async function pickFiles(): Promise<Chip[]> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const uris = await vscode.window.showOpenDialog({
    canSelectMany: true,
    ...(folder && { defaultUri: folder }),
    openLabel: vscode.l10n.t("Attach"),
    title: vscode.l10n.t("Files of the workspace to attach"),
  });
  return Promise.all((uris ?? []).map(chipOf));
}
