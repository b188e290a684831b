// What the set-up's buttons and the command palette do: questions in the editor's lists and boxes.
import * as vscode from "vscode";
import { findPythons } from "./install";
import type { Parts } from "./commands";
import { findProgram, type Launch, serverVersion } from "./launch";
import { chooseModel } from "./models";
import { keep } from "./settings";
import type { AccessResult, AccountRow } from "./wire";

/** Where uv and pipx keep the environment of a tool. */
const TOOL_FOLDERS = [
  "~/.local/share/uv/tools/agent-ls/bin/python",
  "~/.local/share/pipx/venvs/agent-ls/bin/python",
  "~/.local/pipx/venvs/agent-ls/bin/python",
];
const BROWSE = vscode.l10n.t("Browse…");

export function setupCommands(parts: Parts): Record<string, () => unknown> {
  return {
    installServer: async () => {
      await vscode.commands.executeCommand("agent-ls.panel.focus");
      await parts.setup.install();
    },
    pickInterpreter,
    changeKey: () => changeKey(parts),
    forgetKeys: () => forgetKeys(parts),
    signIn: () => signIn(parts),
  };
}

/** Choose an interpreter that has the server, of those that are found, or any other. */
async function pickInterpreter(): Promise<void> {
  const tools = TOOL_FOLDERS.map((path) => findProgram(path, process.env));
  const places = [...(await Promise.all(tools)), ...(await findPythons(process.env))];
  const found = await Promise.all(
    places
      .filter((path) => path !== null)
      .map(async (path) => ({ label: path, version: await serverVersion(path) })),
  );
  const able = found.filter((one) => one.version);
  const items = able.map(({ label, version }) => ({ label, description: `agent-ls ${version}` }));
  const picked = await vscode.window.showQuickPick(
    [
      ...items,
      { label: BROWSE, description: vscode.l10n.t("a Python 3.11 or newer that has agent-ls") },
    ],
    { title: vscode.l10n.t("The interpreter that runs the agent server"), ignoreFocusOut: true },
  );
  const path = picked?.label === BROWSE ? await browse() : picked?.label;
  if (!path) return;
  const settings = vscode.workspace.getConfiguration("agent-ls");
  if (settings.get<string[]>("serverCommand", []).length) {
    // It would win, and the choice would have no effect.
    await settings.update("serverCommand", undefined, vscode.ConfigurationTarget.Global);
  }
  await keep("python", path);
}

async function browse(): Promise<string | undefined> {
  const found = await vscode.window.showOpenDialog({
    title: vscode.l10n.t("The interpreter that runs the agent server"),
    openLabel: vscode.l10n.t("Use"),
  });
  return found?.[0]?.fsPath;
}

/** Ask for the key of the chosen model's provider; it is never shown. */
async function changeKey(parts: Parts): Promise<void> {
  const access = await accessOf(parts);
  if (!access) return;
  const { keyVariable, provider, signIn: account } = access.provider;
  if (account) return signInAt(parts, account);
  if (!keyVariable) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t("Models of {0} take no key.", provider),
    );
    return;
  }
  const key = await vscode.window.showInputBox({
    title: vscode.l10n.t("The key for {0}", provider),
    prompt: vscode.l10n.t(
      "Kept in the editor's secret storage, and given to the server as {0}",
      keyVariable,
    ),
    password: true,
    ignoreFocusOut: true,
  });
  if (key?.trim()) await parts.setup.storeKey(keyVariable, key);
}

/** What the chosen model needs; the model is asked for when there is none. */
async function accessOf({ server, conversation }: Parts): Promise<AccessResult | null> {
  if (!conversation.choices) await conversation.configure();
  let model = conversation.choices?.model;
  if (!model) {
    model = (await chooseModel(server, ""))?.model;
    if (!model) return null;
    await conversation.configure({ model });
    await keep("model", model);
  }
  return server.request("agent/access", { model });
}

async function forgetKeys({ keys, server }: Parts): Promise<void> {
  const names = Object.keys(await keys.all());
  if (!names.length) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No key is kept here."));
    return;
  }
  const forget = vscode.l10n.t("Forget");
  const words = vscode.l10n.t("Forget {0}?", names.join(", "));
  const detail = vscode.l10n.t("They are deleted from the editor's secret storage.");
  const answer = await vscode.window.showWarningMessage(words, { modal: true, detail }, forget);
  if (answer !== forget) return;
  await keys.forget();
  await server.renew();
}

/** Sign in with an account, in a terminal; a model of the account is chosen next. */
async function signIn(parts: Parts): Promise<void> {
  const { server, conversation } = parts;
  // The accounts are the same for each model.
  const model = conversation.choices?.model || "openai/gpt-5";
  const { accounts } = await server.request("agent/access", { model });
  const items = accounts.map((account) => ({
    label: account.title,
    description: vscode.l10n.t("needs {0}", account.plan),
    account,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Sign in instead of a key"),
  });
  if (picked) await signInAt(parts, picked.account.name, picked.account);
}

async function signInAt(parts: Parts, name: string, account?: AccountRow): Promise<void> {
  const { server, setup, conversation } = parts;
  if (!server.launch) return;
  const closed = await inTerminal(
    vscode.l10n.t("Sign in: {0}", name),
    loginLine(server.launch, name),
  );
  if (closed !== 0) return;
  const model = conversation.choices?.model ?? "";
  if (!account || model.startsWith(`${account.provider}/`)) return setup.lookAgain();
  await vscode.commands.executeCommand("agent-ls.pickModel");
}

/**
 * The command line that signs in with the server that runs.
 *
 * Errors: an `Error` for the user when the server's command line is none of ours.
 */
export function loginLine({ command, args }: Launch, account: string): string[] {
  const at = args.indexOf("serve");
  if (at < 0) throw new Error(vscode.l10n.t("Run `agent-ls login {0}` in a terminal.", account));
  return [command, ...args.slice(0, at), "login", account];
}

/** Run a command line in a terminal that stays until the user has read it; its exit code. */
function inTerminal(name: string, line: readonly string[]): Promise<number | undefined> {
  // No shell reads the words: they are its arguments, and the last to be printed its name.
  const script = '"$@"; code=$?; printf "\\n%s " "$0"; read -r _; exit $code';
  const closing = vscode.l10n.t("Press Enter to close.");
  const terminal = vscode.window.createTerminal(
    process.platform === "win32"
      ? { name, shellPath: line[0] ?? "", shellArgs: line.slice(1) }
      : { name, shellPath: "/bin/sh", shellArgs: ["-c", script, closing, ...line] },
  );
  terminal.show();
  return new Promise((done) => {
    const listener = vscode.window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      listener.dispose();
      done(closed.exitStatus?.code);
    });
  });
}
