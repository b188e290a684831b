// The user's settings, and which of them the server hears of, and how.
//
// The server takes what comes from an editor as possibly written by the opened repository. What a
// user set for themselves goes on its command line instead, where it counts as theirs.
import * as vscode from "vscode";
import type { ConfigurationMiddleware, ResponseError } from "vscode-languageclient";
import type { Mode } from "./wire";

const SECTION = "agent-ls";
/** Settings that are the client's own business, or that go on the command line. */
const NOT_FOR_SERVER: ReadonlySet<string> = new Set([
  "serverCommand",
  "python",
  "installFrom",
  "start",
  "trace",
  "model",
  "mode",
]);

/** What the user chose in their own settings; null where they chose nothing. */
export interface Chosen {
  model: string | null;
  mode: Mode | null;
}

export function chosen(): Chosen {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const model = settings.inspect<string>("model")?.globalValue?.trim();
  return { model: model || null, mode: settings.inspect<Mode>("mode")?.globalValue ?? null };
}

/** Keep the choice for all windows; the server hears of it as of any change by the user. */
export async function keep(name: "model" | "python", value: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  await settings.update(name, value, vscode.ConfigurationTarget.Global);
}

/** The words of the server's command line that carry what the user chose. */
export function setArguments(): string[] {
  return Object.entries(chosen())
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) => ["--set", `${name}=${value}`]);
}

/** Answers the server's question for settings with those that are its business. */
export const forServer: NonNullable<ConfigurationMiddleware["configuration"]> = async (
  params,
  token,
  next,
) => {
  const answers = (await next(params, token)) as unknown[] | ResponseError;
  if (!Array.isArray(answers)) return answers;
  return answers.map((answer, index) =>
    params.items[index]?.section === SECTION ? withoutOurs(answer) : answer,
  );
};

function withoutOurs(settings: unknown): unknown {
  if (typeof settings !== "object" || settings === null) return settings;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !NOT_FOR_SERVER.has(name)));
}
