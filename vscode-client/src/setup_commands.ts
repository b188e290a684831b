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
const BROWSE = "Browse…";

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
    [...items, { label: BROWSE, description: "a Python 3.11 or newer that has agent-ls" }],
    { title: "The interpreter that runs the agent server", ignoreFocusOut: true },
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
    title: "The interpreter that runs the agent server",
    openLabel: "Use",
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
    void vscode.window.showInformationMessage(`Models of ${provider} take no key.`);
    return;
  }
  const key = await vscode.window.showInputBox({
    title: `The key for ${provider}`,
    prompt: `Kept in the editor's secret storage, and given to the server as ${keyVariable}`,
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
    void vscode.window.showInformationMessage("No key is kept here.");
    return;
  }
  const forget = "Forget";
  const words = `Forget ${names.join(", ")}?`;
  const detail = "They are deleted from the editor's secret storage.";
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
    description: `needs ${account.plan}`,
    account,
  }));
  const picked = await vscode.window.showQuickPick(items, { title: "Sign in instead of a key" });
  if (picked) await signInAt(parts, picked.account.name, picked.account);
}

async function signInAt(parts: Parts, name: string, account?: AccountRow): Promise<void> {
  const { server, setup, conversation } = parts;
  if (!server.launch) return;
  const closed = await inTerminal(`Sign in: ${name}`, loginLine(server.launch, name));
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
  if (at < 0) throw new Error(`Run \`agent-ls login ${account}\` in a terminal.`);
  return [command, ...args.slice(0, at), "login", account];
}

/** Run a command line in a terminal that stays until the user has read it; its exit code. */
function inTerminal(name: string, line: readonly string[]): Promise<number | undefined> {
  // No shell reads the words: they are its arguments.
  const script = '"$@"; code=$?; printf "\\nPress Enter to close. "; read -r _; exit $code';
  const terminal = vscode.window.createTerminal(
    process.platform === "win32"
      ? { name, shellPath: line[0] ?? "", shellArgs: line.slice(1) }
      : { name, shellPath: "/bin/sh", shellArgs: ["-c", script, "sh", ...line] },
  );
  terminal.show();
  return new Promise((done) => {
    const closing = vscode.window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      closing.dispose();
      done(closed.exitStatus?.code);
    });
  });
}
