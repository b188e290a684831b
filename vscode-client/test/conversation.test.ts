// The same session comes back after a reload, and nothing goes on by itself but after a crash.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Memento } from "vscode";
import { Conversation } from "../src/conversation";
import type { ServerState } from "../src/messages";
import type { Agent } from "../src/server";
import type { SnapshotResult, Update, UpdateParams } from "../src/wire";
import { EventEmitter } from "./editor";
import { snapshot, story, until } from "./golden";

const TALK = story("fix_prices");
const SESSION = snapshot(TALK).session.sessionId;
const HELD = Object.assign(new Error("another agent-ls writes it"), {
  data: { kind: "session_held" },
});

/** What the window keeps over a reload. */
class Memory implements Memento {
  readonly kept = new Map<string, unknown>();
  keys = () => [...this.kept.keys()];
  get = ((key: string) => this.kept.get(key)) as Memento["get"];
  update(key: string, value: unknown): Promise<void> {
    if (value === undefined) this.kept.delete(key);
    else this.kept.set(key, value);
    return Promise.resolve();
  }
}

/** A server that gives this snapshot; `refuse` says why a session cannot be opened. */
class Server {
  readonly updates = new EventEmitter<UpdateParams>();
  readonly states = new EventEmitter<ServerState>();
  readonly asked: string[] = [];
  state: ServerState = { is: "stopped" };
  told: SnapshotResult = snapshot(TALK);
  refuse: () => Error | null = () => null;

  readonly agent = {
    onUpdate: this.updates.event,
    onState: this.states.event,
    request: (method: string, params: { sessionId?: string; continueTurn?: boolean }) => {
      if (method === "agent/config") return Promise.resolve({});
      if (method === "agent/turns") return Promise.resolve({ turns: [params.sessionId] });
      const words =
        params.continueTurn === undefined ? "" : ` ${params.sessionId} ${params.continueTurn}`;
      this.asked.push(method.replace("agent/", "") + words);
      const error = method === "agent/sessions/resume" ? this.refuse() : null;
      return error ? Promise.reject(error) : Promise.resolve(this.told);
    },
  } as unknown as Agent;

  constructor() {
    Object.defineProperty(this.agent, "state", { get: () => this.state });
  }

  become(...states: ServerState["is"][]): void {
    for (const is of states) {
      this.state = { is } as ServerState;
      this.states.fire(this.state);
    }
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const settle = () => vi.advanceTimersByTimeAsync(0);

/** A window in which the session was shown and told these updates; what it kept. */
async function left(params: UpdateParams[]): Promise<Memory> {
  const [server, memory] = [new Server(), new Memory()];
  const conversation = new Conversation(server.agent, memory);
  server.told = snapshot(params);
  server.become("starting", "running");
  await conversation.refresh();
  return memory;
}

test("a reloaded window opens the same session, which does not go on by itself", async () => {
  const memory = await left(TALK.slice(0, 6));
  const server = new Server();
  const conversation = new Conversation(server.agent, memory);
  server.told = snapshot(TALK.slice(0, 6));
  server.told.session.isInterrupted = true;
  // Its turn was running, so it is looked for although nobody has opened the panel.
  server.become("starting", "running");
  await settle();
  expect(server.asked).toEqual([`sessions/resume ${SESSION} false`, "snapshot"]);
  expect(conversation.state.cutOff).not.toBeNull();
  await conversation.goOn();
  expect(server.asked.slice(2)).toEqual([`sessions/resume ${SESSION} true`, "snapshot"]);
});

test("what turns took is told with the session and after each turn's end, of the one shown", async () => {
  const server = new Server();
  const conversation = new Conversation(server.agent);
  const told: unknown[] = [];
  conversation.onTaken((turns) => told.push(...turns));
  const end = TALK.findIndex((one) =>
    one.updates.some((update) => update.sessionUpdate === "turn_ended"),
  );
  server.told = snapshot(TALK.slice(0, end));
  server.become("starting", "running");
  await conversation.refresh();
  await settle();
  expect(told).toEqual([SESSION]);
  const last = TALK[end];
  if (!last) throw new Error("no end");
  server.updates.fire(last);
  await settle();
  expect(told).toEqual([SESSION, SESSION]);
  server.updates.fire({ ...last, sessionId: "ses_other" });
  await settle();
  expect(told).toHaveLength(2);
});

test("a session at rest is opened when somebody looks, an empty one not", async () => {
  const server = new Server();
  const conversation = new Conversation(server.agent, await left(TALK));
  server.become("starting", "running");
  await settle();
  expect(server.asked).toEqual([]);
  await conversation.refresh();
  await conversation.refresh();
  expect(server.asked).toEqual([`sessions/resume ${SESSION} false`, "snapshot", "snapshot"]);
  expect((await left([])).kept.size).toBe(0);
});

test("a server that is about to end is waited for", async () => {
  const server = new Server();
  const conversation = new Conversation(server.agent, await left(TALK));
  let tries = 0;
  server.refuse = () => (++tries < 4 ? HELD : null);
  server.become("running");
  const coming = conversation.refresh();
  await vi.advanceTimersByTimeAsync(1_000);
  await coming;
  expect(server.asked.filter((one) => one.startsWith("sessions/resume"))).toHaveLength(4);
});

test.each([
  ["in another window", HELD],
  ["deleted", new Error("there is no session")],
])("a session that is %s leaves a window with its own, without alarm", async (_, error) => {
  const { window } = await import("vscode");
  const alarms = [vi.spyOn(window, "showErrorMessage"), vi.spyOn(window, "showWarningMessage")];
  const server = new Server();
  const conversation = new Conversation(server.agent, await left(TALK));
  server.refuse = () => error;
  server.become("running");
  const coming = conversation.refresh();
  await vi.advanceTimersByTimeAsync(10_000);
  await coming;
  expect(server.asked.at(-1)).toBe("snapshot");
  for (const alarm of alarms) expect(alarm).not.toHaveBeenCalled();
});

test.each<[string, ServerState["is"][], boolean]>([
  ["crashed and came back goes on", ["starting", "running"], true],
  ["was restarted by the user waits", ["stopped", "starting", "running"], false],
  ["failed and was started again waits", ["failed", "stopped", "starting", "running"], false],
])("a server that %s", async (_, states, goesOn) => {
  const server = new Server();
  const conversation = new Conversation(server.agent);
  server.become("running");
  await conversation.refresh();
  server.asked.length = 0;
  server.become(...states);
  await settle();
  expect(server.asked).toEqual([`sessions/resume ${SESSION} ${goesOn}`, "snapshot"]);
  // The next crash is one again.
  server.become("starting", "running");
  await settle();
  expect(server.asked[2]).toBe(`sessions/resume ${SESSION} true`);
});

test("what waits in another session is known, until the server ends", async () => {
  const server = new Server();
  const conversation = new Conversation(server.agent);
  server.become("running");
  await conversation.refresh();
  const waits = { sessionUpdate: "permission_request", approvalId: "1", title: "Run" } as Update;
  server.updates.fire({ sessionId: "ses_other", seq: 1, updates: [waits] });
  expect([...conversation.lives.keys()]).toEqual(["ses_other"]);
  server.become("stopped");
  expect(conversation.lives.size).toBe(0);
});

test("what a running command has printed is shown again after a look elsewhere", async () => {
  const params = until("fix_prices", "tool_call_output");
  const server = new Server();
  const conversation = new Conversation(server.agent);
  // A snapshot holds what is stored, and a running command's output is not.
  const stored = params.map((one) => ({
    ...one,
    updates: one.updates.filter((update) => update.sessionUpdate !== "tool_call_output"),
  }));
  server.told = snapshot(stored);
  server.become("running");
  await conversation.refresh();
  const last = params.at(-1);
  if (!last) throw new Error("no output");
  server.updates.fire(last);
  const printed = () =>
    conversation.state.items.flatMap((one) =>
      one.kind === "call" && one.output ? [one.output] : [],
    );
  const before = printed();
  expect(before).toHaveLength(1);
  const told: UpdateParams[] = [];
  conversation.onUpdates((one) => told.push(one));
  await conversation.refresh();
  expect(printed()).toEqual(before);
  expect(told).toHaveLength(1);
});

test("work that begins before the last session is opened is what is shown", async () => {
  const server = new Server();
  const conversation = new Conversation(server.agent, await left(TALK));
  server.become("starting", "running");
  await settle();
  server.told = snapshot(TALK.slice(0, 6));
  server.updates.fire({ ...(TALK[1] as UpdateParams), sessionId: SESSION, updates: [BEGUN] });
  await settle();
  expect(server.asked).toEqual(["snapshot"]);
  expect(conversation.sessionId).toBe(SESSION);
});

const BEGUN = { sessionUpdate: "turn_started", turnId: "trn_9", anchor: null } as Update;
