// Changes what a waiting call would write or run in an editor of its own: the text of a file beside
// the file as it is, or a command. Nothing runs before the user says so there.
import * as vscode from "vscode";
import type { Agent } from "./server";
import { message } from "./words";

interface Waiting {
  sessionId: string | null;
  approvalId: string;
}

/** Opens a waiting call as one text; false when it is none, and its arguments are to be changed. */
export type Amends = (waiting: Waiting) => Promise<boolean>;

const CONTEXT = "agent-ls.isAmending";

export class Amending implements vscode.Disposable {
  readonly #agent: Agent;
  /** By the URI of the document that the user changes. */
  readonly #open = new Map<string, Waiting>();
  readonly #listeners: vscode.Disposable[];

  constructor(agent: Agent) {
    this.#agent = agent;
    this.#listeners = [
      vscode.commands.registerCommand("agent-ls.runAmended", () => this.#run()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#tell()),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#open.delete(uri.toString())),
    ];
  }

  readonly open: Amends = async (waiting) => {
    const { text, location } = await this.#agent.request("agent/approval/text", waiting);
    if (text === null) return false;
    const file = location?.uri ? vscode.Uri.parse(location.uri, true) : null;
    const now = file && (await vscode.workspace.openTextDocument(file).then(null, () => null));
    const language = now?.languageId ?? (location ? "plaintext" : "shellscript");
    const document = await vscode.workspace.openTextDocument({ content: text, language });
    this.#open.set(document.uri.toString(), waiting);
    if (now && location) {
      const title = vscode.l10n.t("{0}: what the agent would write", location.path);
      await vscode.commands.executeCommand("vscode.diff", now.uri, document.uri, title);
    } else {
      await vscode.window.showTextDocument(document);
    }
    this.#tell();
    return true;
  };

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
  }

  /** The button in the editor's title is there only for such a document. */
  #tell(): void {
    const uri = vscode.window.activeTextEditor?.document.uri.toString() ?? "";
    void vscode.commands.executeCommand("setContext", CONTEXT, this.#open.has(uri));
  }

  async #run(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const waiting = document && this.#open.get(document.uri.toString());
    if (!document || !waiting) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("Open what you want to change from an approval in the panel first."),
      );
      return;
    }
    try {
      const answer = { ...waiting, choice: "amend", text: document.getText() } as const;
      const { settled } = await this.#agent.request("agent/approval/resolve", answer);
      if (!settled) {
        // The document stays, with what the user wrote.
        void vscode.window.showInformationMessage(vscode.l10n.t("This was already settled."));
        return;
      }
    } catch (error) {
      void vscode.window.showErrorMessage(message(error));
      return;
    }
    this.#open.delete(document.uri.toString());
    // Another editor may be in front meanwhile, with what the user writes there.
    if (vscode.window.activeTextEditor?.document === document) {
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    }
  }
}
