// The set-up finds out what is missing, and brings it without showing a key.
import { expect, test } from "vitest";
import type { SecretStorage } from "vscode";
import type { Conversation } from "../src/conversation";
import { Keys } from "../src/keys";
import type { ServerState, SetupState } from "../src/messages";
import { Setup } from "../src/setup";
import { loginLine } from "../src/setup_commands";
import type { AccessResult, ConfigResult, TrustOffer } from "../src/wire";
import { EventEmitter } from "./editor";

const KEY = "sk-hush-4711";
const FOLDER = "file:///shop";

const access = (isMissing: boolean): AccessResult => ({
  model: {
    model: "openai/gpt-5",
    windowTokens: 1,
    maxOutputTokens: 1,
    inputPrice: 1,
    outputPrice: 1,
    hasTools: true,
    takesImages: true,
    efforts: [],
  },
  provider: {
    provider: "openai",
    keyVariable: "OPENAI_API_KEY",
    signIn: null,
    isReady: !isMissing,
  },
  isMissing,
  problem: isMissing ? "There is no key." : "",
  accounts: [],
});

/** A set-up beside a server whose key is there once it was started with one. */
function opened({ model = "openai/gpt-5", failure = "" } = {}) {
  const states = new EventEmitter<ServerState>();
  const configs = new EventEmitter<ConfigResult>();
  const kept = new Map<string, string>();
  const secrets = {
    get: (name: string) => Promise.resolve(kept.get(name)),
    store: (name: string, value: string) =>
      failure ? Promise.reject(new Error(failure)) : Promise.resolve(void kept.set(name, value)),
  } as unknown as SecretStorage;
  const asked: string[] = [];
  const logged: string[] = [];
  const folder = { name: "shop", uri: FOLDER, isTrusted: false };
  const server = {
    state: { is: "running" } as ServerState,
    onState: states.event,
    starts: 0,
    start: () => Promise.resolve(),
    restart: () => {
      server.starts += 1;
      states.fire(server.state);
      return Promise.resolve();
    },
    request: (method: string) => {
      asked.push(method);
      if (failure) return Promise.reject(new Error(failure));
      return Promise.resolve(access(!kept.size));
    },
  };
  const conversation = {
    choices: null as ConfigResult | null,
    onConfig: configs.event,
    configure: () => {
      configs.fire(conversation.choices as ConfigResult);
      return Promise.resolve();
    },
    trust: (uri: string, isAgreed = false) => {
      if (isAgreed) folder.isTrusted = true;
      const offer: TrustOffer = {
        uri,
        isTrusted: folder.isTrusted,
        switchesOn: ["a hook"],
        staysOff: [],
      };
      return Promise.resolve({ folders: [offer] });
    },
  };
  const setup = new Setup({
    server: server as never,
    conversation: conversation as unknown as Conversation,
    keys: new Keys(secrets, (words) => logged.push(words)),
    root: "/nowhere",
    log: (line) => logged.push(line),
  });
  const told: SetupState[] = [];
  setup.onChange((state) => told.push(state));
  const tell = async () => {
    conversation.choices = {
      sessionId: "ses_1",
      mode: "ask",
      model,
      effort: "",
      silenced: [],
      modes: [],
      roots: [folder],
      problems: [],
    };
    configs.fire(conversation.choices);
    await new Promise((done) => setTimeout(done));
  };
  return { setup, server, asked, told, tell, logged, folder };
}

test("what the model needs and what trust switches on is found out", async () => {
  const { setup, tell } = opened();
  await tell();
  expect(setup.state.access?.isMissing).toBe(true);
  expect(setup.state.offers?.map((one) => one.switchesOn)).toEqual([["a hook"]]);
  expect(setup.state.isLooked).toBe(true);
});

test("a user who lacks nothing is asked nothing more", async () => {
  const { setup, tell, asked } = opened();
  await tell();
  await setup.do({ do: "storeKey", variable: "OPENAI_API_KEY", key: KEY });
  await tell();
  const before = asked.length;
  await tell();
  await tell();
  expect(asked.length).toBe(before);
});

test("a key is kept, the server is started with it, and nobody is told it", async () => {
  const { setup, server, tell, told, logged } = opened();
  await tell();
  await setup.do({ do: "storeKey", variable: "OPENAI_API_KEY", key: KEY });
  await tell();
  expect(server.starts).toBe(1);
  expect(setup.state.access?.isMissing).toBe(false);
  expect(JSON.stringify([told, logged])).not.toContain(KEY);
});

test("a storage that fails is said on the page, and the server is left alone", async () => {
  const { setup, server, tell } = opened({ failure: "the keyring is locked" });
  await tell();
  await setup.do({ do: "storeKey", variable: "OPENAI_API_KEY", key: KEY });
  expect(setup.state.problems.key).toContain("the keyring is locked");
  expect(server.starts).toBe(0);
  expect(setup.state.isLooked).toBe(true);
});

test("a server that cannot say what is missing holds nobody up", async () => {
  const { setup, tell } = opened({ failure: "no such method" });
  await tell();
  expect([setup.state.access, setup.state.isLooked]).toEqual([null, true]);
});

test("trust is given for what is open", async () => {
  const { setup, tell, folder } = opened();
  await tell();
  await setup.do({ do: "trust" });
  expect(folder.isTrusted).toBe(true);
  await tell();
  expect(setup.state.offers).toEqual([]);
});

test.each([
  [
    ["-P", "-m", "agent_ls", "serve"],
    ["py", "-P", "-m", "agent_ls", "login", "chatgpt"],
  ],
  [
    ["serve", "--log"],
    ["py", "login", "chatgpt"],
  ],
])("the sign-in is run by the server that runs: %j", (args, line) => {
  expect(loginLine({ command: "py", args, from: "path" }, "chatgpt")).toEqual(line);
});

test("a command line that is none of ours is not guessed at", () => {
  const launch = { command: "/bin/sh", args: ["-c", "x"], from: "setting" } as const;
  expect(() => loginLine(launch, "copilot")).toThrow("agent-ls login copilot");
});
