// The extension: puts the parts together, starts the server, and takes everything down again.
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Conversation } from "./conversation";
import { answerSaving, DiagnosticsForwarder } from "./editor";
import { InlineReview } from "./inline";
import { Panel } from "./panel";
import { Review } from "./review";
import { Server } from "./server";
import { Sessions } from "./sessions";
import { chosen } from "./settings";
import { Status } from "./status";

let server: Server | null = null;

/** Called by the editor once per window; returns before the server is up. */
export function activate(context: vscode.ExtensionContext): void {
  server = new Server(answerSaving);
  const conversation = new Conversation(server, context.workspaceState);
  const review = new Review(server, conversation);
  const panel = new Panel(context.extensionUri, server, conversation, review);
  context.subscriptions.push(
    server,
    conversation,
    review,
    panel,
    new Status(server, conversation, review),
    new InlineReview(review),
    new Sessions(server, conversation),
    new DiagnosticsForwarder(server),
    vscode.workspace.onDidChangeConfiguration((event) =>
      onConfigurationChange(event, conversation),
    ),
    ...registerCommands({ server, conversation, panel, review }),
    announceFailure(server),
  );
  void server.restart();
}

/** Called when the window closes; the server gets the time to end its turn. */
export async function deactivate(): Promise<void> {
  await server?.stop();
}

const LAUNCH_SETTINGS = ["agent-ls.serverCommand", "agent-ls.python"];

function onConfigurationChange(
  event: vscode.ConfigurationChangeEvent,
  conversation: Conversation,
): void {
  if (!event.affectsConfiguration("agent-ls")) return;
  if (LAUNCH_SETTINGS.some((name) => event.affectsConfiguration(name))) {
    void server?.restart();
    return;
  }
  server?.configurationChanged();
  const { model, mode } = chosen();
  if (model && event.affectsConfiguration("agent-ls.model")) void conversation.configure({ model });
  if (mode && event.affectsConfiguration("agent-ls.mode")) void conversation.configure({ mode });
}

/** A server that cannot run is said once, with what can be done about it at hand. */
function announceFailure(watched: Server): vscode.Disposable {
  const actions = {
    Restart: "agent-ls.restartServer",
    Settings: "agent-ls.openSettings",
    "Show the log": "agent-ls.showLog",
  } as const;
  return watched.onState(async (state) => {
    if (state.is !== "failed") return;
    const names = Object.keys(actions) as (keyof typeof actions)[];
    const words = `${state.problem} ${state.advice}`;
    const picked = await vscode.window.showErrorMessage(words, ...names);
    if (picked) await vscode.commands.executeCommand(actions[picked]);
  });
}
