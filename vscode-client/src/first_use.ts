// When the server starts although neither the panel nor a command of ours was used.
import * as vscode from "vscode";
import type { Server } from "./server";

/** A comment that asks the agent for something; the server reads such lines more exactly. */
const INSTRUCTION = /(?:^|[#/*!;%<>="'+|@]|--)\s*agent:\s*\S/i;

/**
 * Start the server if the user's settings or the folder ask for it, or when the cursor stands on an
 * instruction for the agent, whose code action only the server has.
 */
export function watchFirstUse(server: Server): vscode.Disposable {
  void isWanted().then((yes) => (yes ? server.start() : undefined));
  return vscode.languages.registerCodeActionsProvider(
    { scheme: "file" },
    {
      provideCodeActions: (document, { start }) => {
        const isAsked = server.state.is === "stopped";
        if (isAsked && INSTRUCTION.test(document.lineAt(start.line).text)) void server.start();
        return [];
      },
    },
  );
}

async function isWanted(): Promise<boolean> {
  const settings = vscode.workspace.getConfiguration("agent-ls");
  if (settings.get("start") === "always") return true;
  const folders = vscode.workspace.workspaceFolders ?? [];
  const found = await Promise.all(folders.map(({ uri }) => hasAgentFolder(uri)));
  return found.includes(true);
}

async function hasAgentFolder(folder: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder, ".agent-ls"));
    return true;
  } catch {
    return false;
  }
}
