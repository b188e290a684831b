// What waits and works in sessions that are not shown is counted, too.
import { expect, test } from "vitest";
import { EMPTY } from "../src/fold/state";
import { countRunning, countWaiting, followLives, type Lives, livesWith } from "../src/fold/live";
import { describe } from "../src/status";
import type { PermissionRequested, QuestionAsked, Update } from "../src/wire";

const request = (approvalId: string) =>
  ({
    sessionUpdate: "permission_request",
    approvalId,
    title: `Run ${approvalId}`,
  }) as PermissionRequested;
const resolved = (approvalId: string): Update => ({
  sessionUpdate: "permission_resolved",
  approvalId,
  outcome: "allow_once",
  by: "user",
  note: "",
});
const question: QuestionAsked = {
  sessionUpdate: "question",
  questionId: "q",
  origin: "ask_user",
  text: "Which?",
  options: [],
  steps: [],
};
const phase: Update = { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" };
const end = { sessionUpdate: "turn_ended" } as Update;

function lives(...told: [string, ...Update[]][]): Lives {
  return told.reduce<Lives>(
    (all, [sessionId, ...updates]) => followLives(all, { sessionId, seq: 1, updates }),
    new Map(),
  );
}

test.each<[string, [string, ...Update[]][], number, number]>([
  ["nothing", [], 0, 0],
  [
    "two sessions that wait",
    [
      ["a", phase, request("1"), question],
      ["b", request("2")],
    ],
    3,
    2,
  ],
  [
    "an answer",
    [
      ["a", request("1"), request("2")],
      ["a", resolved("1")],
    ],
    1,
    1,
  ],
  ["an answer to nothing", [["a", resolved("1")]], 0, 0],
  [
    "one that works",
    [
      ["a", phase],
      ["b", phase, end],
    ],
    0,
    1,
  ],
  [
    "an end",
    [
      ["a", request("1"), question],
      ["a", end],
    ],
    0,
    0,
  ],
  [
    "what is said after the end",
    [
      ["a", phase, end],
      ["a", { sessionUpdate: "findings" } as Update],
    ],
    0,
    0,
  ],
])("%s", (_, told, waiting, running) => {
  const all = lives(...told);
  expect([countWaiting(all), countRunning(all)]).toEqual([waiting, running]);
});

test("nothing new is the same map", () => {
  const before = lives(["a", phase]);
  expect(followLives(before, { sessionId: "a", seq: 2, updates: [phase] })).toBe(before);
});

test("a whole state replaces what was known of its session", () => {
  const before = lives(["a", request("1")], ["b", request("2")]);
  const after = livesWith(before, { ...EMPTY, sessionId: "a" });
  expect([...after.keys()]).toEqual(["b"]);
});

test("the status says what waits in any session, and then how many work", () => {
  const shown = { ...EMPTY, sessionId: "a" };
  const say = (all: Lives) => describe({ is: "running" }, shown, all);
  expect(say(lives(["b", request("1")]))).toMatchObject({
    text: "$(bell-dot) Agent waits for you",
    tooltip: "The agent waits for your answer:\nRun 1",
  });
  expect(say(lives(["a", request("1")], ["b", request("2")])).text).toBe(
    "$(bell-dot) 2 wait for you",
  );
  expect(say(lives(["b", phase])).text).toBe("$(loading~spin) Agent");
  expect(say(lives(["a", phase], ["b", phase])).text).toBe("$(loading~spin) Agent 2");
  expect(say(lives()).text).toBe("$(sparkle) Agent");
  const cutOff = { ...shown, title: "Rounding", cutOff: { turn: null } };
  expect(describe({ is: "running" }, cutOff, lives())).toMatchObject({
    tooltip: "The agent was cut off in: Rounding",
  });
  expect(describe({ is: "stopped" }, cutOff, lives(["b", phase])).tooltip).toBe("Open the agent");
});
