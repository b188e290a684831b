// The server is installed with the Python that is there, and a failure says what to do next.
import { execFileSync, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { install, InstallError, installedPython, sourceOf } from "../src/install";
import { explain } from "../src/install_errors";
import { findServer, serverVersion } from "../src/launch";

let home: string;
let lines: string[];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "install-"));
  lines = [];
});
afterEach(() => rm(home, { recursive: true, force: true }));

const WHEEL = `
import sys, zipfile
folder, version = sys.argv[1:]
name = f"agent_ls-{version}"
with zipfile.ZipFile(f"{folder}/{name}-py3-none-any.whl", "w") as wheel:
    wheel.writestr("agent_ls/__init__.py", f"__version__ = {version!r}\\n")
    wheel.writestr("agent_ls/__main__.py", "print('serving')\\n")
    wheel.writestr(f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\\nName: agent-ls\\nVersion: {version}\\n")
    wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{name}.dist-info/RECORD", "")
`;

/** A package of the name agent-ls that needs no others, so that nothing is fetched. */
async function wheel(version: string): Promise<string> {
  await mkdir(join(home, "wheels"), { recursive: true });
  execFileSync("python3", ["-c", WHEEL, join(home, "wheels"), version]);
  return join(home, `wheels/agent_ls-${version}-py3-none-any.whl`);
}

async function program(name: string, script: string): Promise<void> {
  await mkdir(join(home, "bin"), { recursive: true });
  await writeFile(join(home, "bin", name), `#!/bin/sh\n${script}\n`);
  await chmod(join(home, "bin", name), 0o755);
}

const root = () => join(home, "storage/server");

/** Install with only the programs of `bin`, and where they look for more, those of the system. */
function installed(from: string, options: Partial<Parameters<typeof install>[0]> = {}) {
  return install({
    root: root(),
    from,
    variables: { ...process.env, HOME: home, PATH: join(home, "bin") },
    proxy: "",
    onLine: (line) => lines.push(line),
    signal: new AbortController().signal,
    ...options,
  });
}

async function failure(done: Promise<unknown>): Promise<InstallError> {
  const error = await done.then(
    () => null,
    (one: unknown) => one,
  );
  expect(error).toBeInstanceOf(InstallError);
  return error as InstallError;
}

async function leftOver(): Promise<string[]> {
  return (await readdir(root())).filter((name) => /^\d/.test(name));
}

// Not the name on the PATH, which may be a script of pyenv's.
const python3 = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], {
  encoding: "utf8",
}).stdout.trim();

test("a wheel is installed with the Python that is there", async () => {
  await program("python3", `exec ${python3} "$@"`);
  // A user's pip.conf may ask for what an environment refuses.
  const pip = join(home, "pip.conf");
  await writeFile(pip, "[install]\nuser = true\n");
  const variables = {
    ...process.env,
    HOME: home,
    PATH: join(home, "bin"),
    PIP_CONFIG_FILE: pip,
    PIP_NO_INDEX: "1",
    PYTHONPATH: "/nowhere",
  };
  expect(await installedPython(root())).toBe("");
  const { python, version } = await installed(await wheel("0.4.0"), { variables });
  expect(version).toBe("0.4.0");
  expect(await installedPython(root())).toBe(python);
  expect(await serverVersion(python)).toBe("0.4.0");
  const settings = { serverCommand: [], python: "", privatePython: python };
  const { command, from } = await findServer(settings, { HOME: home, PATH: "" });
  expect([command, from]).toEqual([python, "private"]);
  expect(lines[0]).toContain("-m venv");
  expect(lines.some((line) => line.includes("Successfully installed agent-ls-0.4.0"))).toBe(true);
}, 180_000);

test("uv is used where it is there, and no project's settings count", async () => {
  // Makes an environment as uv does, without pip, and puts the next version into it.
  await program(
    "uv",
    `echo "$@" >> ${home}/uv.log
     test "$1" = venv && exec ${python3} -I -m venv --without-pip "$5"
     site=$("$4" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
     mkdir "$site/agent_ls"
     echo "__version__ = '0.$(wc -l < ${home}/uv.log)'" > "$site/agent_ls/__init__.py"`,
  );
  const path = `${join(home, "bin")}:/usr/bin:/bin`;
  const variables = { ...process.env, HOME: home, PATH: path };
  const first = await installed("agent-ls", { variables });
  expect(first.version).toBe("0.2");
  const [venv = "", pip = ""] = (await readFile(join(home, "uv.log"), "utf8")).split("\n");
  expect(venv).toMatch(/^venv --no-project --python >=3\.11 /);
  expect(pip).toMatch(/^pip install --python \S+\/bin\/python agent-ls$/);
  const second = await installed("agent-ls", { variables });
  expect(second.version).toBe("0.4");
  expect(await installedPython(root())).toBe(second.python);
  // A server of another window may still run from it.
  expect(await serverVersion(first.python)).toBe("0.2");
  await program("uv", 'echo "$5"; mkdir -p "$5/bin"; exit 2');
  await failure(installed("agent-ls", { variables }));
  expect(await installedPython(root())).toBe(second.python);
  expect(await leftOver()).toHaveLength(2);
});

test("what is cancelled ends with all it started, and leaves nothing", async () => {
  const mark = `mark-${process.pid}-${Date.now()}`;
  await program(
    "python3",
    `case "$*" in *version_info*) echo 3 12;; *) sleep 300 & exec sh -c 'trap "" TERM; while :; do sleep 1; done' ${mark};; esac`,
  );
  const cancelling = new AbortController();
  const variables = { ...process.env, HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin` };
  const done = installed("agent-ls", { signal: cancelling.signal, variables });
  setTimeout(() => cancelling.abort(), 500);
  await expect(done).rejects.toThrow(/abort/i);
  expect(await leftOver()).toEqual([]);
  expect(spawnSync("pgrep", ["-f", mark], { encoding: "utf8" }).stdout).toBe("");
});

test("a Python that is too old, and none at all, are said", async () => {
  const none = await failure(installed("agent-ls"));
  expect(none.message).toBe("There is no Python here.");
  await program("python3", "echo 3 9");
  const old = await failure(installed("agent-ls"));
  expect(old.message).toContain("Python 3.9 is too old");
  expect(old.advice).toContain("uv");
  await program("python3.12", "echo 3 12; exit 1");
  await expect(installed("agent-ls")).rejects.toThrow("3.9");
});

test("an index's password is not shown", async () => {
  await program("python3", 'case "$*" in *version_info*) echo 3 12;; *) echo "$@"; exit 1;; esac');
  await failure(installed("git+https://ann:hush@example.com/agent-ls.git"));
  const asked = { ...process.env, HOME: home, PATH: join(home, "bin") };
  await program(
    "uv",
    'test "$1" = venv || { echo "fetching https://ann:hush@example.com/index"; exit 2; }',
  );
  await failure(installed("https://ann:hush@example.com/x.git", { variables: asked }));
  expect(lines.some((line) => line.includes("***@example.com"))).toBe(true);
  expect(lines.join("\n")).not.toContain("hush");
});

test("the editor's proxy is used unless the environment has one", async () => {
  await program("uv", `echo "$HTTPS_PROXY" >> ${home}/proxy; exit 1`);
  const variables = { HOME: home, PATH: join(home, "bin") };
  await failure(installed("agent-ls", { variables, proxy: "http://editor:1" }));
  const own = { ...variables, HTTPS_PROXY: "http://own:2" };
  await failure(installed("agent-ls", { variables: own, proxy: "http://editor:1" }));
  expect(await readFile(join(home, "proxy"), "utf8")).toBe("http://editor:1\nhttp://own:2\n");
});

const DEBIAN = `The virtual environment was not created successfully because ensurepip is not
available.  On Debian/Ubuntu systems, you need to install the python3-venv
package using the following command.

    apt install python3.12-venv

You may need to use sudo with that command.  After installing the python3-venv
package, recreate your virtual environment.

Failing command: /home/ann/server/1/bin/python`;

test.each([
  [DEBIAN, "package venv is missing", "sudo apt install python3.12-venv"],
  [
    "Error: Command '['/env/bin/python3', '-Im', 'ensurepip', '--upgrade', '--default-pip']' returned non-zero exit status 1.",
    "package venv is missing",
    "sudo apt install python3-venv",
  ],
  ["/usr/bin/python3: No module named venv", "package venv is missing", "python3-venv"],
  [
    "ERROR: No matching distribution found for agent-ls",
    "does not have what is to be installed",
    "agent-ls.installFrom",
  ],
  [
    "  × No solution found when resolving dependencies:\n  ╰─▶ Because agent-ls was not found in the package registry and you require agent-ls, we can conclude that your requirements are unsatisfiable.",
    "does not have what is to be installed",
    "agent-ls.installFrom",
  ],
  [
    "error: Failed to fetch: `https://index.example/agent-ls/`\n  Caused by: client error (Connect)\n  Caused by: invalid peer certificate: UnknownIssuer",
    "certificate",
    "SSL_CERT_FILE",
  ],
  [
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(\"Failed to establish a new connection: [Errno -3] Temporary failure in name resolution\")': /simple/agent-ls/\nERROR: No matching distribution found for agent-ls",
    "could not be reached",
    "http.proxy",
  ],
  [
    "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407 Proxy Authentication Required'))",
    "proxy refused",
    "HTTPS_PROXY",
  ],
  [
    "Downloading zstandard-0.23.0.tar.gz (407 kB)\nerror: command 'gcc' failed: No such file or directory",
    "had to be built here",
    "",
  ],
  [
    "ERROR: HTTP error 403 while getting https://index.example/agent-ls/agent_ls-0.1.0.tar.gz",
    "index refused",
    "pip.conf",
  ],
  [
    "WARNING: 401 Error, Credentials not correct for https://index.example/agent-ls/",
    "index refused",
    "pip.conf",
  ],
  [
    "ERROR: Directory '/x' is not installable. Neither 'setup.py' nor 'pyproject.toml' found.",
    "nothing to install",
    "Correct the setting",
  ],
  [
    "  × No interpreter found for Python >=3.11 in managed installations or search path",
    "no Python 3.11 or newer",
    "uv python install",
  ],
  [
    "ERROR: Package 'agent-ls' requires a different Python: 3.10.12 not in '>=3.11'",
    "does not fit",
    "3.11",
  ],
  [
    "ERROR: Cannot find command 'git' - do you have 'git' installed and in your PATH?",
    "git is needed",
    "clone",
  ],
  [
    "WARNING: Requirement '/x/agent_ls.whl' looks like a filename, but the file does not exist",
    "nothing to install",
    "Correct the setting",
  ],
  ["OSError: [Errno 28] No space left on device", "disk is full", "500 MB"],
  ["Something else went wrong: error 5", "Something else went wrong", "pick its interpreter"],
  ["", "exit code 3", "pick its interpreter"],
])("%s", (words, problem, advice) => {
  const error = explain(words.split("\n"), 3);
  expect(error.message).toContain(problem);
  expect(error.advice).toContain(advice);
});

test.each([
  ["", "agent-ls"],
  ["agent-ls", "agent-ls"],
  ["agent-ls[keyring]==0.4.*", "agent-ls[keyring]==0.4.*"],
  ["/opt/agent-ls", "/opt/agent-ls"],
  ["~/agent-ls", "/home/ann/agent-ls"],
  ["https://example.com/ann/agent-ls.git", "git+https://example.com/ann/agent-ls.git"],
  ["https://example.com/ann/agent-ls.git@main", "git+https://example.com/ann/agent-ls.git@main"],
  ["ssh://git@example.com/agent-ls", "git+ssh://git@example.com/agent-ls"],
  ["git+https://example.com/agent-ls", "git+https://example.com/agent-ls"],
  [
    "https://example.com/agent_ls-0.4-py3-none-any.whl",
    "https://example.com/agent_ls-0.4-py3-none-any.whl",
  ],
])("what is installed of %j", (named, wanted) => {
  expect(sourceOf(named, { HOME: "/home/ann" })).toBe(wanted);
});

test.each(["--index-url=http://evil", "-r", "./agent-ls", "wheels/a.whl", "a b; rm", "$(x)"])(
  "no option and nothing that depends on a folder is installed: %j",
  (named) => {
    expect(() => sourceOf(named, {})).toThrow(InstallError);
  },
);
