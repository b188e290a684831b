// Installs the server into a private environment below the extension's own storage.
//
// Each installation is a folder of its own, and `current.json` names the one that counts: what
// fails or is cancelled leaves the one before as it was. Nothing is installed unless asked for.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { explain, InstallError } from "./install_errors";
import { t } from "./l10n";
import { findProgram } from "./launch";

export { InstallError } from "./install_errors";

type Variables = Readonly<Record<string, string | undefined>>;

export interface Installation {
  /** The interpreter that has the server. */
  python: string;
  version: string;
}

export interface InstallOptions {
  /** The folder of all installations. */
  root: string;
  /** A package's name, a wheel, a clone or the address of a git repository. */
  from: string;
  variables: Variables;
  /** The editor's own proxy; empty when there is none. */
  proxy: string;
  onLine: (line: string) => void;
  signal: AbortSignal;
}

const OLDEST_PYTHON: readonly [number, number] = [3, 11];
const PYTHON_NAMES = [
  "python3",
  "python3.14",
  "python3.13",
  "python3.12",
  "python3.11",
  "python",
] as const;
const KILL_AFTER_MS = 2_000;
/** An installation that another window works on is younger than this. */
const ABANDONED_MS = 24 * 60 * 60_000;
/** What would send the packages elsewhere, or another Python's modules into ours. */
const IN_THE_WAY = ["PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX"];
const VERSION = "import agent_ls; print(agent_ls.__version__)";

/** The interpreter of the installation that counts; empty when there is none. */
export async function installedPython(root: string): Promise<string> {
  const folder = await currentFolder(root);
  return folder && interpreter(join(root, folder));
}

/**
 * Install the server.
 *
 * Errors: `InstallError`, with what to do; the signal's reason when it was cancelled.
 */
export async function install(options: InstallOptions): Promise<Installation> {
  const { root, variables, onLine, signal } = options;
  const from = sourceOf(options.from, variables);
  const name = String(Date.now());
  const folder = join(root, name);
  const python = interpreter(folder);
  const before = await currentFolder(root);
  const run = runner(options);
  await mkdir(root, { recursive: true });
  try {
    const uv = await findProgram("uv", variables);
    if (uv) {
      await run(uv, ["venv", "--no-project", "--python", `>=${OLDEST_PYTHON.join(".")}`, folder]);
      await run(uv, ["pip", "install", "--python", python, from]);
    } else {
      const base = await findPython(variables, signal);
      // Isolated: nothing of the user's own modules gets in the way.
      await run(base, ["-I", "-m", "venv", folder]);
      await run(python, ["-I", "-m", "pip", "install", "--progress-bar", "off", from]);
    }
    const version = (await run(python, ["-I", "-c", VERSION])).trim();
    await writeFile(join(root, "current.new"), JSON.stringify({ folder: name, version }));
    await rename(join(root, "current.new"), join(root, "current.json"));
    onLine(t("Installed version {0}", version));
    await removeOthers(root, [name, before]);
    return { python, version };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    signal.throwIfAborted();
    throw error;
  }
}

/** Interpreters on this machine that are new enough to run the server, without doubles. */
export async function findPythons(variables: Variables): Promise<string[]> {
  const found = await Promise.all(PYTHON_NAMES.map((name) => findProgram(name, variables)));
  return [...new Set(found.filter((path) => path !== null))];
}

async function findPython(variables: Variables, signal: AbortSignal): Promise<string> {
  let newest = "";
  for (const path of await findPythons(variables)) {
    const script = "import sys; print(*sys.version_info[:2])";
    const said = await output(path, ["-I", "-c", script], signal).catch(() => "");
    const [major = 0, minor = 0] = said.trim().split(" ").map(Number);
    const isNew =
      major > OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]);
    if (isNew) return path;
    if (major) newest ||= `${major}.${minor}`;
  }
  throw new InstallError(
    newest
      ? t("Python {0} is too old for the agent server.", newest)
      : t("There is no Python here."),
    t("Install Python 3.11 or newer, or uv, which brings its own. Then try again."),
  );
}

/**
 * What pip and uv take for what the user named.
 *
 * Errors: `InstallError` for what would be taken for an option, or would depend on a folder.
 */
export function sourceOf(named: string, variables: Variables): string {
  const from = named.trim() || "agent-ls";
  if (/^https?:\/\/.*\.git(@|#|$)/.test(from) || /^(ssh|git):\/\//.test(from)) return `git+${from}`;
  if (from.startsWith("~/")) return join(variables.HOME ?? homedir(), from.slice(2));
  const isName = /^[a-z0-9][\w.-]*(\[[\w,.-]+\])?\s*([=<>!~]=?[\w.*,=<>!~ ]+)?$/i.test(from);
  const isAddress = /^(git\+)?[a-z]+:\/\//.test(from) || /^git\+[\w.-]+@/.test(from);
  if (isName || isAddress || isAbsolute(from)) return from;
  throw new InstallError(
    t("The setting `agent-ls.installFrom` is `{0}`, which is no package, path or address.", from),
    t(
      "Give a package's name, the whole path of a wheel or a clone, or the address of a git repository.",
    ),
  );
}

function interpreter(folder: string): string {
  return process.platform === "win32"
    ? join(folder, "Scripts", "python.exe")
    : join(folder, "bin", "python");
}

async function currentFolder(root: string): Promise<string> {
  try {
    const found = JSON.parse(await readFile(join(root, "current.json"), "utf8")) as unknown;
    const { folder } = found as { folder?: unknown };
    return typeof folder === "string" && /^\d+$/.test(folder) ? folder : "";
  } catch {
    return "";
  }
}

/** Remove older installations; a server of another window may still use the one before. */
async function removeOthers(root: string, kept: readonly string[]): Promise<void> {
  for (const name of await readdir(root)) {
    const isOld = /^\d+$/.test(name) && Date.now() - Number(name) > ABANDONED_MS;
    if (isOld && !kept.includes(name)) await rm(join(root, name), { recursive: true, force: true });
  }
}

type Run = (command: string, args: readonly string[]) => Promise<string>;

/** What runs the steps of an installation, shows them, and tells their failures in words. */
function runner({ variables, proxy, onLine, signal, root }: InstallOptions): Run {
  const kept = Object.entries(variables).filter(([name]) => !IN_THE_WAY.includes(name));
  const env = {
    ...withProxy(proxy, variables),
    ...Object.fromEntries(kept),
    NO_COLOR: "1",
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
    // A user's pip.conf may ask for this everywhere, which an environment refuses.
    PIP_USER: "0",
    UV_NO_PROGRESS: "1",
    GIT_TERMINAL_PROMPT: "0",
  };
  return async (command, args) => {
    signal.throwIfAborted();
    onLine(`$ ${withoutPasswords([command, ...args].join(" "))}`);
    const lines: string[] = [];
    const child = spawn(command, [...args], {
      // Not the opened folder: both programs read settings of the folder they run in.
      cwd: root,
      env,
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const said = await ended(child, signal, (line) => {
      lines.push(line);
      onLine(withoutPasswords(line));
    });
    if (said.code === 0) return said.output;
    throw explain(lines, said.code);
  };
}

function withProxy(proxy: string, variables: Variables): Record<string, string> {
  const isSet = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].some(
    (name) => variables[name],
  );
  return proxy && !isSet ? { HTTPS_PROXY: proxy, HTTP_PROXY: proxy } : {};
}

/** A line as it can be shown: an index's address may hold a password. */
function withoutPasswords(line: string): string {
  return line.replace(/(\/\/)[^/\s@]+@/g, "$1***@");
}

// What programs send to colour a terminal.
// eslint-disable-next-line no-control-regex
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

interface Ended {
  code: number | null;
  /** What it said on standard output. */
  output: string;
}

/** Wait for a process and all it started; both are ended when the signal comes. */
function ended(
  child: ChildProcess,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<Ended> {
  return new Promise((done, fail) => {
    let output = "";
    let killing: NodeJS.Timeout | undefined;
    const stop = () => {
      end(child, "SIGTERM");
      killing = setTimeout(() => end(child, "SIGKILL"), KILL_AFTER_MS);
    };
    const finish = () => {
      clearTimeout(killing);
      signal.removeEventListener("abort", stop);
    };
    signal.addEventListener("abort", stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      let rest = "";
      stream?.setEncoding("utf8");
      stream?.on("data", (text: string) => {
        if (stream === child.stdout) output += text;
        const lines = (rest + text.replace(COLOURS, "")).split(/\r?\n|\r/);
        rest = lines.pop() ?? "";
        for (const line of lines.filter((one) => one.trim())) onLine(line);
      });
      stream?.on("end", () => rest.trim() && onLine(rest));
    }
    child.once("error", (error) => {
      finish();
      fail(new InstallError(t("It could not be started: {0}.", error.message), t("Try again.")));
    });
    child.once("close", (code) => {
      finish();
      if (signal.aborted) fail(signal.reason as Error);
      else done({ code, output });
    });
  });
}

/** End a process with all that it started, such as a compiler that pip runs. */
function end(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid && process.platform !== "win32") process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // It has just ended.
  }
}

async function output(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(command, [...args], {
    cwd: homedir(),
    detached: process.platform !== "win32",
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  const said = await ended(child, signal, () => {});
  return said.code === 0 ? said.output : "";
}
