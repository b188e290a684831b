// Finds out how the server is started on this machine.
//
// Owns the order of the places that are looked at and the words for a user when none will do.
// Never looks into the opened folder: what a repository brings must not choose what runs.
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { t } from "./l10n";

export interface Launch {
  command: string;
  args: readonly string[];
  /** Where it was found: it says who can update it. */
  from: "setting" | "private" | "path";
}

export interface LaunchSettings {
  /** A whole command line; empty when nothing is set. */
  serverCommand: readonly string[];
  /** An interpreter that has agent-ls; empty when nothing is set. */
  python: string;
  /** The interpreter of the environment that the set-up made; empty when there is none. */
  privatePython: string;
}

/** Nothing on this machine starts the server; the advice says what to do. */
export class NoServerError extends Error {
  constructor(
    problem: string,
    readonly advice: string,
    /** A setting is wrong; installing would not help. */
    readonly isSetting = false,
  ) {
    super(problem);
    this.name = "NoServerError";
  }
}

// Python would import from the working directory first; -P leaves that out.
const PYTHON_ARGS = ["-P", "-m", "agent_ls", "serve"];
const PROBE_ARGS = ["-P", "-c", "import agent_ls"];
const PROBE_LIMIT_MS = 10_000;

/**
 * The command line that starts the server: of the settings, else of the private environment, else
 * of what is installed on the machine.
 *
 * Errors: `NoServerError`, also when a setting names something that does not work: a user who
 * chose one server does not want another.
 */
export async function findServer(
  settings: LaunchSettings,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Launch> {
  if (settings.serverCommand.length) return commanded(settings.serverCommand, variables);
  if (settings.python) return interpreted(settings.python, variables);
  if (settings.privatePython) return installedHere(settings.privatePython);
  const installed = await findProgram("agent-ls", variables);
  if (installed) return { command: installed, args: ["serve"], from: "path" };
  const python = await findProgram("python3", variables);
  if (python && !(await probe(python))) return { command: python, args: PYTHON_ARGS, from: "path" };
  throw new NoServerError(
    t("The agent server is not installed on this machine."),
    t("Install it here, or pick an interpreter that has it."),
  );
}

/** Start what the set-up installed. Its Python may be gone: systems replace theirs by newer ones. */
async function installedHere(python: string): Promise<Launch> {
  if (await existing(python)) return { command: python, args: PYTHON_ARGS, from: "private" };
  throw new NoServerError(
    t("The Python that the agent server was installed with is gone."),
    t("Install the server again."),
  );
}

async function commanded(
  line: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Launch> {
  const [wanted = "", ...args] = line;
  const command = await findProgram(wanted, variables);
  if (command) return { command, args, from: "setting" };
  throw new NoServerError(
    t(
      "The setting `agent-ls.serverCommand` names `{0}`, which is no program on this machine.",
      wanted,
    ),
    t("Correct the setting, or empty it so that agent-ls is looked for."),
    true,
  );
}

async function interpreted(
  wanted: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Launch> {
  const command = await findProgram(wanted, variables);
  if (!command) {
    throw new NoServerError(
      t("The setting `agent-ls.python` names `{0}`, which is no program on this machine.", wanted),
      t("Correct the setting, or empty it so that agent-ls is looked for."),
      true,
    );
  }
  const complaint = await probe(command);
  if (complaint) {
    throw new NoServerError(
      t("The interpreter of the setting `agent-ls.python` cannot start agent-ls: {0}", complaint),
      t(
        "Install agent-ls into it with `{0} -m pip install .` in a clone of its repository (Python 3.11 or newer), or correct the setting.",
        wanted,
      ),
      true,
    );
  }
  return { command, args: PYTHON_ARGS, from: "setting" };
}

/** Where a program is: an absolute path, one below the home folder, or a name on the PATH. */
export async function findProgram(
  wanted: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const home = variables.HOME ?? homedir();
  if (wanted.startsWith("~/")) return existing(join(home, wanted.slice(2)));
  if (isAbsolute(wanted)) return existing(wanted);
  if (!wanted || /[\\/]/.test(wanted)) return null;
  const path = variables.PATH ?? variables.Path ?? "";
  // An editor that was started from a desktop often lacks the folder where tools are installed.
  const folders = [...path.split(delimiter), join(home, ".local", "bin")];
  for (const folder of folders.filter((one) => isAbsolute(one))) {
    const found = await existing(join(folder, wanted));
    if (found) return found;
  }
  return null;
}

async function existing(path: string): Promise<string | null> {
  const names = process.platform === "win32" ? [path, `${path}.exe`] : [path];
  for (const name of names) {
    try {
      await access(name, constants.X_OK);
      if ((await stat(name)).isFile()) return name;
    } catch {
      // Not there, or not ours to run: the next place may do.
    }
  }
  return null;
}

/** The version of the server that an interpreter has; empty when it has none. */
export function serverVersion(python: string): Promise<string> {
  const script = "import agent_ls; print(agent_ls.__version__)";
  return new Promise((done) => {
    execFile(
      python,
      ["-P", "-c", script],
      { cwd: homedir(), timeout: PROBE_LIMIT_MS, windowsHide: true },
      (error, stdout) => done(error ? "" : stdout.trim()),
    );
  });
}

/** What an interpreter says against starting agent-ls; empty when it can. */
function probe(python: string): Promise<string> {
  return new Promise((done) => {
    execFile(
      python,
      PROBE_ARGS,
      { cwd: homedir(), timeout: PROBE_LIMIT_MS, windowsHide: true },
      (error, _stdout, stderr) => {
        if (!error) return done("");
        const lines = stderr.trim().split("\n");
        done(lines.at(-1)?.trim() || error.message);
      },
    );
  });
}
