// Keys stay in the storage and reach the server's environment, and nothing else.
import { expect, test } from "vitest";
import type { SecretStorage } from "vscode";
import { Keys } from "../src/keys";
import { ServerProcess } from "../src/process";
import { EventEmitter } from "./editor";

const KEY = "sk-hush-4711";

/** The editor's storage, which may hold anything and may fail. */
function storage(held?: string, failure?: string) {
  const kept = new Map(held === undefined ? [] : [["agent-ls.keys", held]]);
  const fail = () => Promise.reject(new Error(failure));
  const secrets = {
    get: (name: string) => (failure ? fail() : Promise.resolve(kept.get(name))),
    store: (name: string, value: string) =>
      failure ? fail() : Promise.resolve(void kept.set(name, value)),
    delete: (name: string) => Promise.resolve(void kept.delete(name)),
    onDidChange: new EventEmitter().event,
  } as unknown as SecretStorage;
  const said: string[] = [];
  return { keys: new Keys(secrets, (words) => said.push(words)), said, kept };
}

test("a key is kept, replaced and forgotten", async () => {
  const { keys, said, kept } = storage();
  expect(await keys.all()).toEqual({});
  await keys.store("OPENAI_API_KEY", ` ${KEY}\n`);
  await keys.store("GROQ_API_KEY", "first");
  await keys.store("GROQ_API_KEY", "second");
  expect(await keys.all()).toEqual({ OPENAI_API_KEY: KEY, GROQ_API_KEY: "second" });
  expect(await keys.forget()).toEqual(["OPENAI_API_KEY", "GROQ_API_KEY"]);
  expect(await keys.all()).toEqual({});
  expect(kept.size).toBe(0);
  expect(said).toEqual([]);
});

test.each([
  ["PATH", KEY, "PATH holds no key"],
  ["LD_PRELOAD", KEY, "LD_PRELOAD holds no key"],
  ["OPENAI_API_KEY", "  ", "empty"],
  ["OPENAI_API_KEY", `${KEY} and more`, "no space inside"],
])("what is no key is refused without showing it: %s", async (variable, key, words) => {
  const { keys, kept } = storage();
  const error = await keys.store(variable, key).catch((one: unknown) => one);
  expect(String(error)).toContain(words);
  expect(String(error)).not.toContain(KEY);
  expect(kept.size).toBe(0);
});

test.each([
  [`{"OPENAI_API_KEY": "${KEY}"`, "it is damaged"],
  ["[1]", ""],
  ["null", ""],
  [`{"PATH": "/evil", "OPENAI_API_KEY": 5}`, ""],
])("a damaged storage holds no keys, and shows none: %s", async (held, words) => {
  const { keys, said } = storage(held);
  expect(await keys.all()).toEqual({});
  expect(said.join()).toContain(words);
  expect(said.join()).not.toContain(KEY);
  await keys.store("OPENAI_API_KEY", KEY);
  expect(await keys.all()).toEqual({ OPENAI_API_KEY: KEY });
});

test("a storage that fails is said, and the server starts without keys", async () => {
  const { keys, said } = storage(undefined, "the keyring is locked");
  expect(await keys.all()).toEqual({});
  expect(said.join()).toContain("the keyring is locked");
  await expect(keys.store("OPENAI_API_KEY", KEY)).rejects.toThrow("the keyring is locked");
});

test("the server gets the keys in its environment, before those of the editor", async () => {
  process.env.OPENAI_API_KEY = "of-the-editor";
  try {
    const script = 'echo "$OPENAI_API_KEY $HOME" >&2; echo "$@" >&2';
    const launch = { command: "/bin/sh", args: ["-c", script, "sh", "serve"] };
    const said: string[] = [];
    const child = await ServerProcess.start(launch, (line) => said.push(line), {
      OPENAI_API_KEY: KEY,
    });
    child.listen(child.child.stderr);
    await child.ended;
    expect(said).toEqual([`${KEY} ${process.env.HOME}`, "serve"]);
  } finally {
    delete process.env.OPENAI_API_KEY;
  }
});
