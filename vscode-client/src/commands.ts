// What the command palette, key bindings and the panel's buttons do.
//
// Each command asks the server for one thing; questions to the user use the editor's own lists
// and boxes, which the keyboard and screen readers know.
import * as vscode from "vscode";
import { contextCommands } from "./context_commands";
import type { Conversation } from "./conversation";
import type { Keys } from "./keys";
import type { Panel } from "./panel";
import type { Review } from "./review";
import type { Server } from "./server";
import { chooseEffort, chooseModel } from "./models";
import { detail, iconOf, name } from "./session_words";
import { chosen, keep } from "./settings";
import type { Setup } from "./setup";
import { setupCommands } from "./setup_commands";
import type { ApprovalChoice, TrustOffer } from "./wire";
import { message } from "./words";

export interface Parts {
  server: Server;
  conversation: Conversation;
  panel: Panel;
  review: Review;
  setup: Setup;
  keys: Keys;
}

/** Commands that do their work without a server; the others start it. */
const WITHOUT_SERVER: ReadonlySet<string> = new Set([
  "openPanel",
  "ask",
  "restartServer",
  "showLog",
  "openSettings",
  "openWalkthrough",
  "installServer",
  "pickInterpreter",
  "forgetKeys",
]);

/** Register them all. */
export function registerCommands(parts: Parts): vscode.Disposable[] {
  const { server, conversation, panel, review } = parts;
  const sessionId = () => conversation.sessionId;
  /** The approval that the panel shows, else the oldest that waits. */
  const asked = () => {
    const { approvals } = conversation.state;
    return approvals.find((one) => one.approvalId === panel.shownId) ?? approvals[0];
  };
  const resolve = (choice: ApprovalChoice, approvalId = asked()?.approvalId, note = "") => {
    if (!approvalId) throw new Error(vscode.l10n.t("Nothing waits for your permission."));
    const params = { sessionId: sessionId(), approvalId, choice, note };
    return server.request("agent/approval/resolve", params);
  };
  /** Allow what was read to its end in the panel; anything else is shown there first. */
  const allow = (choice: ApprovalChoice) => {
    const approvalId = asked()?.approvalId;
    const isUnread = approvalId && !panel.isRead(approvalId);
    return isUnread ? panel.attend(approvalId) : resolve(choice);
  };
  const commands: Record<string, (...given: unknown[]) => unknown> = {
    ...contextCommands(panel),
    openPanel: () => panel.compose(),
    ask: () => panel.compose(),
    stopTurn: () => server.request("agent/cancel", { sessionId: sessionId() }),
    finishTurn: () =>
      vscode.commands.executeCommand("agent-ls.finish", conversation.sessionId || null),
    compactConversation: () =>
      server.request("agent/compact", { sessionId: conversation.sessionId }),
    keepChange: () => review.here("keep"),
    undoChange: () => review.here("undo"),
    nextChange: () => review.here("next"),
    previousChange: () => review.here("previous"),
    redoChanges: () => vscode.commands.executeCommand("agent-ls.review.redo"),
    undoTurn: () => vscode.commands.executeCommand("agent-ls.review.undo"),
    showChanges: () => review.diffTurn(),
    peekRemoved: () => review.peekRemoved(),
    newSession: () => newSession(parts),
    pickSession: () => pickSession(parts),
    pickMode: () => pickMode(parts),
    pickModel: () => pickModel(parts),
    trustFolders: () => trustFolders(conversation),
    allowOnce: () => allow("allow_once"),
    allowForSession: () => allow("allow_session"),
    reject: async () => {
      const request = asked();
      const note = await vscode.window.showInputBox({
        title: vscode.l10n.t("Reject: {0}", request?.title ?? ""),
        prompt: vscode.l10n.t("Say why, or what to do instead (may stay empty)"),
      });
      if (note !== undefined) await resolve("reject_once", request?.approvalId, note);
    },
    checkMachine: () => vscode.commands.executeCommand("agent-ls.doctor"),
    showRules: () => vscode.commands.executeCommand("agent-ls.rules"),
    addRule: () => changeRules("add", "allow run_command: pytest *"),
    removeRule: () => changeRules("remove", "2"),
    restartServer: () => server.restart(),
    showLog: () => server.log.show(),
    openSettings,
    openWalkthrough: () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", `${EXTENSION}#start`),
    ...setupCommands(parts),
  };
  return Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(`agent-ls.${name}`, async (...given: unknown[]) => {
      try {
        if (WITHOUT_SERVER.has(name) || (await isUp(parts))) await run(...given);
      } catch (error) {
        void vscode.window.showErrorMessage(message(error));
      }
    }),
  );
}

const EXTENSION = "agent-ls.agent-ls";

/** Start the server if nobody has; the panel says what is missing when it cannot. */
async function isUp({ server }: Parts): Promise<boolean> {
  await server.start();
  if (server.state.is === "running") return true;
  await vscode.commands.executeCommand("agent-ls.panel.focus");
  return false;
}

/** The extension's settings. In a remote window ours are the remote machine's: its tab has them. */
async function openSettings(): Promise<void> {
  const query = `@ext:${EXTENSION}`;
  const where = vscode.env.remoteName ? "openRemoteSettings" : "openSettings";
  await vscode.commands.executeCommand(`workbench.action.${where}`, { query });
}

async function changeRules(change: "add" | "remove", example: string): Promise<void> {
  const rule = await vscode.window.showInputBox({
    title:
      change === "add"
        ? vscode.l10n.t("Add a rule")
        : vscode.l10n.t("Remove a rule, by its number or text"),
    prompt: vscode.l10n.t("For example: {0}", example),
  });
  if (rule) await vscode.commands.executeCommand("agent-ls.rules", { change, rule });
}

async function newSession({ server, conversation, panel }: Parts): Promise<void> {
  await conversation.ready();
  await server.request("agent/sessions/new", chosen());
  await conversation.refresh();
  await panel.compose();
}

async function pickSession({ server, conversation }: Parts): Promise<void> {
  const { sessions } = await server.request("agent/sessions/list", {});
  const items = sessions.map((row) => {
    const live = conversation.lives.get(row.sessionId);
    const icon = iconOf(row, live, row.sessionId === conversation.sessionId);
    const origin = sessions.find((one) => one.sessionId === row.forkedFrom);
    return { label: `$(${icon}) ${name(row)}`, description: detail(row, live, origin), row };
  });
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Sessions of this workspace"),
    placeHolder: items.length
      ? vscode.l10n.t("Go on with…")
      : vscode.l10n.t("There is no session yet"),
    matchOnDescription: true,
  });
  if (!picked || picked.row.sessionId === conversation.sessionId) return;
  await conversation.open(picked.row.sessionId);
}

async function pickMode({ conversation }: Parts): Promise<void> {
  if (!conversation.choices) await conversation.configure();
  const items = (conversation.choices?.modes ?? []).map((mode) => ({
    label: `${mode.id === conversation.state.mode ? "$(check) " : ""}${mode.name}`,
    detail: mode.description,
    mode,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("How much may the agent do without asking?"),
  });
  if (picked) await conversation.configure({ mode: picked.mode.id });
}

/** Only a user may say that what a folder brings can run. */
async function trustFolders(conversation: Conversation): Promise<void> {
  if (!conversation.choices) await conversation.configure();
  const roots = conversation.choices?.roots.filter((root) => !root.isTrusted) ?? [];
  if (!roots.length) return;
  const uris = roots.map(({ uri }) => uri);
  const offers = await Promise.all(uris.map((uri) => conversation.trust(uri)));
  const detail = offers.flatMap(({ folders }) => folders.map(described)).join("\n\n");
  const trust = vscode.l10n.t("Trust");
  const answer = await vscode.window.showWarningMessage(
    roots.length === 1
      ? vscode.l10n.t("Trust this folder?")
      : vscode.l10n.t("Trust these folders?"),
    { modal: true, detail },
    trust,
  );
  if (answer !== trust) return;
  for (const uri of uris) await conversation.trust(uri, true);
  await conversation.configure();
}

function described({ uri, switchesOn, staysOff }: TrustOffer): string {
  const on = switchesOn.length ? switchesOn : [vscode.l10n.t("nothing that is there now")];
  const off = staysOff.length ? [vscode.l10n.t("These stay off:"), ...staysOff] : [];
  return [vscode.l10n.t("{0} would switch on:", vscode.Uri.parse(uri).fsPath), ...on, ...off].join(
    "\n",
  );
}

/** Choose the session's model and effort; the first model that can work is kept for all windows. */
async function pickModel({ server, conversation, setup }: Parts): Promise<void> {
  const before = conversation.state.effort;
  const found = await chooseModel(server, conversation.state.model);
  if (!found) return;
  const { model, efforts } = found;
  const isFirst = !conversation.choices?.model || setup.state.access?.isMissing;
  // The first time, one question is enough; the model's own button asks about both.
  const effort = efforts.length && !isFirst ? await chooseEffort(found, before) : "";
  if (effort === undefined) return;
  await conversation.configure({ model, ...(effort !== before && { effort }) });
  if (isFirst) await keep("model", model);
}
