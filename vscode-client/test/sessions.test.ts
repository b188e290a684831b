// The Sessions view: which group a session stands in, how its row reads, and what is asked of the server.
import { beforeEach, expect, test, vi } from "vitest";
import type { Conversation } from "../src/conversation";
import { followLives, type Lives } from "../src/fold/live";
import type { Agent } from "../src/server";
import { detail, iconOf, name } from "../src/session_words";
import { groupOf, Sessions, underTurns } from "../src/sessions";
import type { SessionRow, Update } from "../src/wire";
import { EventEmitter, registered, window } from "./editor";

const ROW: SessionRow = {
  sessionId: "ses_1",
  title: "Round half up",
  agent: "",
  roots: ["file:///shop"],
  isHere: true,
  updatedMs: 0,
  turns: 1,
  status: "success",
  isInterrupted: false,
  isOpen: true,
  forkedFrom: "",
  isDryRun: false,
  isArchived: false,
  subAgents: 0,
  turnId: "",
  turnPrompt: "",
  found: "",
  cost: { amount: 0, currency: "USD" },
};

const request = { sessionUpdate: "permission_request", approvalId: "1", title: "Run" } as Update;
const phase: Update = { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" };
const lives = (...updates: Update[]): Lives =>
  followLives(new Map(), { sessionId: "ses_1", seq: 1, updates });
const HOUR_MS = 3_600_000;

test.each<[string, Partial<SessionRow>, Lives, string, string, string]>([
  ["at rest", {}, lives(), "Recent", "2 hours ago", "comment-discussion"],
  ["that waits", {}, lives(phase, request), "Waiting", "waits for you", "bell-dot"],
  [
    "that works",
    { cost: { amount: 0.128, currency: "USD" } },
    lives(phase),
    "Running",
    "works · $0.13",
    "loading~spin",
  ],
  [
    "in another window",
    { status: "running", isOpen: false },
    lives(),
    "Running",
    "2 hours ago",
    "comment-discussion",
  ],
  [
    "that was cut off",
    { status: "running", isInterrupted: true },
    lives(),
    "Recent",
    "was cut off",
    "debug-continue",
  ],
  ["in the archive", { isArchived: true }, lives(), "Archived", "2 hours ago", "archive"],
  [
    "in the archive that works",
    { isArchived: true },
    lives(phase),
    "Running",
    "works",
    "loading~spin",
  ],
  [
    "of another folder",
    { isHere: false, status: "running" },
    lives(),
    "Other folders",
    "2 hours ago",
    "comment-discussion",
  ],
  [
    "that failed",
    { status: "failed", forkedFrom: "ses_0" },
    lives(),
    "Recent",
    "2 hours ago · fork",
    "error",
  ],
])("a session %s", (_, change, all, group, words, icon) => {
  const row = { ...ROW, ...change };
  expect(groupOf(row, all)).toBe(group);
  expect(detail(row, all.get("ses_1"), undefined, 2 * HOUR_MS)).toBe(words);
  expect(iconOf(row, all.get("ses_1"), false)).toBe(icon);
});

test("a fork is told by the session that it branched off from", () => {
  const fork = { ...ROW, forkedFrom: "ses_0", updatedMs: 0 };
  const origin = { ...ROW, sessionId: "ses_0", title: "Rounding" };
  expect(detail(fork, undefined, origin, 0)).toBe("just now · from “Rounding”");
});

test("a row without a title has a name, and a sub-agent says its kind", () => {
  expect(name({ ...ROW, title: "" })).toBe("Untitled");
  expect(name({ ...ROW, agent: "explore" })).toBe("explore: Round half up");
});

test("sub-agents stand under the turns that started them, in order", () => {
  const agent = (sessionId: string, turnId: string) => ({
    ...ROW,
    sessionId,
    agent: "explore",
    turnId,
    turnPrompt: `Prompt of ${turnId}`,
  });
  const [a, b, c] = [agent("a", "trn_1"), agent("b", "trn_2"), agent("c", "trn_1")];
  // Of an older server, or started by no turn that is known.
  const odd = { ...agent("d", ""), turnPrompt: "" };
  expect(underTurns("ses_2", [a, b, odd, c])).toEqual([
    { sessionId: "ses_2", turnId: "trn_1", prompt: "Prompt of trn_1", agents: [a, c] },
    { sessionId: "ses_2", turnId: "trn_2", prompt: "Prompt of trn_2", agents: [b] },
    odd,
  ]);
  expect(underTurns("ses_2", [])).toEqual([]);
});

const PARENT = { ...ROW, sessionId: "ses_2", title: "With help", subAgents: 1 };
const CHILD = { ...ROW, sessionId: "ses_3", agent: "explore", title: "uses" };

let asked: [string, unknown][];
/** What the conversation is told to do. */
const open = vi.fn(() => Promise.resolve());
const refresh = vi.fn(() => Promise.resolve());

/** A view of two sessions, of which the first is shown. */
async function opened(): Promise<Sessions> {
  asked = [];
  const agent = {
    state: { is: "running" },
    onState: new EventEmitter().event,
    onUpdate: new EventEmitter().event,
    request: (method: string, params: { parentId?: string }) => {
      asked.push([method.replace("agent/sessions/", ""), params]);
      if (method === "agent/sessions/list") {
        return Promise.resolve({ sessions: params.parentId ? [CHILD] : [ROW, PARENT] });
      }
      return Promise.resolve({ sessionId: "ses_1", markdown: "# One" });
    },
  } as unknown as Agent;
  const conversation = {
    lives: lives(),
    sessionId: "ses_1",
    onSnapshot: new EventEmitter().event,
    onLives: new EventEmitter().event,
    open,
    refresh,
  } as unknown as Conversation;
  const view = new Sessions(agent, conversation);
  await view.refresh();
  return view;
}

const run = (command: string, ...words: unknown[]) =>
  (registered.get(`agent-ls.${command}`) as (...words: unknown[]) => Promise<void>)(...words);
const orders = () => asked.filter(([method]) => method !== "list");

beforeEach(() => {
  registered.clear();
  refresh.mockClear();
});

test("groups that have no session are left out, and sub-agents stand below theirs", async () => {
  const view = await opened();
  expect(await view.getChildren()).toEqual(["Recent"]);
  expect(await view.getChildren("Recent")).toEqual([ROW, PARENT]);
  expect(await view.getChildren(PARENT)).toEqual([CHILD]);
  expect(asked.at(-1)).toEqual(["list", { parentId: "ses_2" }]);
  const [plain, parent] = [ROW, PARENT].map((row) => view.getTreeItem(row));
  expect([plain?.collapsibleState, parent?.collapsibleState]).toEqual([0, 1]);
  expect(plain?.accessibilityInformation?.label).toContain("shown now");
  expect(view.getTreeItem(CHILD)).toMatchObject({ contextValue: "subAgent" });
});

test("each action names the session that it is meant for, or the one that is shown", async () => {
  await opened();
  vi.spyOn(window, "showInputBox").mockResolvedValue("Other");
  await run("renameSession", PARENT);
  await run("archiveSession", PARENT);
  await run("unarchiveSession");
  await run("forkSession", PARENT);
  expect(orders()).toEqual([
    ["rename", { sessionId: "ses_2", title: "Other" }],
    ["archive", { sessionId: "ses_2", isArchived: true }],
    ["archive", { sessionId: "ses_1", isArchived: false }],
    ["fork", { sessionId: "ses_2", turn: null }],
  ]);
});

test("a session is deleted only after a yes, and the one that is shown gives way", async () => {
  await opened();
  const question = vi.spyOn(window, "showWarningMessage").mockResolvedValue(undefined);
  await run("deleteSession", ROW);
  expect(orders()).toEqual([]);
  question.mockResolvedValue("Delete");
  await run("deleteSession", PARENT);
  expect(orders()).toEqual([["delete", { sessionId: "ses_2" }]]);
  expect(refresh).not.toHaveBeenCalled();
  await run("deleteSession", ROW);
  expect(orders().map(([method]) => method)).toEqual(["delete", "delete", "new"]);
  expect(refresh).toHaveBeenCalledOnce();
});

test("a search lists what has the words, until all are shown again", async () => {
  await opened();
  vi.spyOn(window, "showInputBox").mockResolvedValue(" half up ");
  await run("searchSessions");
  expect(asked.at(-1)?.[1]).toMatchObject({ query: "half up", everywhere: true });
  await run("clearSessionSearch");
  expect(asked.at(-1)?.[1]).toMatchObject({ query: "" });
});

test("what another window has open is said in plain words", async () => {
  await opened();
  const error = vi.spyOn(window, "showErrorMessage");
  const held = Object.assign(new Error("another agent-ls writes"), {
    data: { kind: "session_held" },
  });
  open.mockRejectedValueOnce(held);
  await run("openSession", PARENT);
  expect(error).toHaveBeenCalledWith("“With help” is open in another window.");
});
