// The server is found where a user put it, and nowhere a repository could.
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findServer, type Launch, type LaunchSettings, NoServerError } from "../src/launch";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "launch-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function program(path: string, script = "exit 0"): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

function check(settings: Partial<LaunchSettings>, ...path: string[]): Promise<Launch> {
  const variables = { HOME: home, PATH: path.map((one) => join(home, one)).join(delimiter) };
  return findServer({ ...NOTHING_SET, ...settings }, variables);
}

const NOTHING_SET = { serverCommand: [], python: "", privatePython: "" };
const MODULE = ["-P", "-m", "agent_ls", "serve"];

test("a configured command line is taken as it is", async () => {
  const command = await program("tools/serve-agent");
  const line = { serverCommand: [command, "serve", "--log"] };
  expect(await check(line)).toEqual({ command, args: ["serve", "--log"], from: "setting" });
});

test("a configured interpreter that has the server starts it", async () => {
  const python = await program("env/bin/python");
  const wanted = { command: python, args: MODULE, from: "setting" };
  expect(await check({ python: "~/env/bin/python" })).toEqual(wanted);
});

test("an interpreter without the server is refused in its own words", async () => {
  const words = "echo 'Traceback:' >&2; echo \"No module named 'agent_ls'\" >&2; exit 1";
  const python = await program("env/bin/python", words);
  await expect(check({ python })).rejects.toThrow("No module named 'agent_ls'");
});

test.each([
  [{ serverCommand: ["/nowhere/agent-ls"] }, "agent-ls.serverCommand"],
  [{ python: "/nowhere/python" }, "agent-ls.python"],
])("a setting that names nothing is named itself: %j", async (settings, name) => {
  await program("bin/agent-ls");
  await expect(check(settings, "bin")).rejects.toThrow(name);
  await expect(check(settings, "bin")).rejects.toMatchObject({ isSetting: true });
});

test("agent-ls on the PATH comes before an interpreter", async () => {
  await program("bin/python3");
  const command = await program("other/agent-ls");
  expect(await check({}, "bin", "other")).toEqual({ command, args: ["serve"], from: "path" });
});

test("agent-ls is found where tools are installed for one user", async () => {
  const command = await program(".local/bin/agent-ls");
  expect(await check({}, "bin")).toEqual({ command, args: ["serve"], from: "path" });
});

test("python3 is taken when it has the server", async () => {
  const command = await program("bin/python3");
  expect(await check({}, "bin")).toEqual({ command, args: MODULE, from: "path" });
});

test("without anything the advice says what to do", async () => {
  await program("bin/python3", "exit 1");
  const error = await check({}, "bin").catch((one: unknown) => one);
  expect(error).toBeInstanceOf(NoServerError);
  expect((error as NoServerError).advice).toContain("Install it here");
  expect((error as NoServerError).isSetting).toBe(false);
});

test("what the set-up has installed comes after the settings and before the PATH", async () => {
  const privatePython = await program("storage/bin/python");
  const python = await program("env/bin/python");
  await program("bin/agent-ls");
  expect(await check({ privatePython }, "bin")).toMatchObject({
    command: privatePython,
    args: MODULE,
  });
  expect(await check({ privatePython, python }, "bin")).toMatchObject({ command: python });
});

test("an installation whose Python is gone is to be made again", async () => {
  await mkdir(join(home, "storage"));
  await symlink("/nowhere/python3.11", join(home, "storage/python"));
  await program("bin/agent-ls");
  const error = await check({ privatePython: join(home, "storage/python") }, "bin").catch(
    (one: unknown) => one,
  );
  expect(error).toBeInstanceOf(NoServerError);
  expect((error as NoServerError).advice).toContain("Install the server again");
});

test("what is no program is passed over", async () => {
  await mkdir(join(home, "bin/agent-ls"), { recursive: true });
  await symlink("/nowhere", join(home, "bin/python3"));
  await expect(check({}, "bin")).rejects.toThrow(NoServerError);
});

test.each(["agent-ls", "./agent-ls", "bin/agent-ls", ""])(
  "a path that depends on the opened folder is never taken: %j",
  async (name) => {
    const before = process.cwd();
    await program("repo/agent-ls");
    await program("repo/bin/agent-ls");
    process.chdir(join(home, "repo"));
    try {
      const variables = { HOME: home, PATH: ["", ".", "bin"].join(delimiter) };
      const found = findServer({ ...NOTHING_SET, serverCommand: [name, "serve"] }, variables);
      await expect(found).rejects.toThrow(NoServerError);
    } finally {
      process.chdir(before);
    }
  },
);
