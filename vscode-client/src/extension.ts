// The extension: puts the parts together, and takes everything down again.
import { join } from "node:path";
import * as vscode from "vscode";
import { allowedBy } from "./allowing";
import { Amending } from "./amending";
import { registerCommands } from "./commands";
import { Conversation } from "./conversation";
import { answerSaving, DiagnosticsForwarder } from "./editor";
import { watchFirstUse } from "./first_use";
import { InlineReview } from "./inline";
import { installedPython } from "./install";
import { Keys } from "./keys";
import { speak } from "./l10n";
import { Panel } from "./panel";
import { Review } from "./review";
import { Server } from "./server";
import { Sessions } from "./sessions";
import { chosen } from "./settings";
import { Setup } from "./setup";
import { Toasts } from "./toasts";
import { Status } from "./status";
import { message } from "./words";

let server: Server | null = null;

/** Called by the editor once per window; the server starts when it is used for the first time. */
export function activate(context: vscode.ExtensionContext): void {
  const { bundle } = vscode.l10n;
  if (bundle) speak(bundle, vscode.env.language);
  const root = join(context.globalStorageUri.fsPath, "server");
  const keys = new Keys(context.secrets, (words) => started.log.error(words));
  const started = new Server(answerSaving, {
    version: (context.extension.packageJSON as { version: string }).version,
    privatePython: () => installedPython(root),
    keys: () => keys.all(),
    isHeldBack: (command, args) => {
      const allowing = allowedBy(command, args, conversation.lives);
      if (!allowing || panel.isRead(allowing.id)) return false;
      panel.show(allowing).catch((error: unknown) => started.log.error(message(error)));
      return true;
    },
  });
  server = started;
  const conversation = new Conversation(started, context.workspaceState);
  const review = new Review(started, conversation);
  const log = (line: string) => started.log.info(line);
  const setup = new Setup({ server: started, conversation, keys, root, log });
  const amending = new Amending(started);
  const panel = new Panel(
    context.extensionUri,
    started,
    conversation,
    review,
    setup,
    context.workspaceState,
    amending.open,
  );
  context.subscriptions.push(
    started,
    conversation,
    review,
    setup,
    panel,
    amending,
    new Status(started, conversation, review, panel),
    new Toasts(conversation, panel),
    new InlineReview(review),
    new Sessions(started, conversation),
    new DiagnosticsForwarder(started),
    vscode.workspace.onDidChangeConfiguration((event) =>
      onConfigurationChange(event, conversation),
    ),
    context.secrets.onDidChange((event) => {
      // The key that this window lacks was given in another one.
      if (Keys.isChanged(event) && setup.state.access?.isMissing) void started.renew();
    }),
    ...registerCommands({ server: started, conversation, panel, review, setup, keys }),
    watchFirstUse(started),
  );
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
    void server?.renew();
    return;
  }
  server?.configurationChanged();
  const { model, mode } = chosen();
  if (model && event.affectsConfiguration("agent-ls.model")) void conversation.configure({ model });
  if (mode && event.affectsConfiguration("agent-ls.mode")) void conversation.configure({ mode });
}
