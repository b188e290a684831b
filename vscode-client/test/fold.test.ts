// Updates add up to what a user sees.
import { expect, test } from "vitest";
import { MAX_OUTPUT } from "../src/fold/calls";
import { follow, fromSnapshot, reduce } from "../src/fold/reduce";
import type { State } from "../src/fold/state";
import type { Update } from "../src/wire";
import { begun, folded, itemsOf, snapshot, STORIES, story, until } from "./golden";

function check(updates: readonly Update[], expected: Partial<State>, from = begun("s")): State {
  const state = updates.reduce(reduce, from);
  expect(state).toMatchObject(expected);
  return state;
}

const text = (words: string) => ({ type: "text" as const, text: words });
const chunk = (words: string, stepId = "stp"): Update => ({
  sessionUpdate: "agent_message_chunk",
  stepId,
  content: text(words),
});
const message = (words: string, isPartial = false, stepId = "stp"): Update => ({
  sessionUpdate: "agent_message",
  stepId,
  content: text(words),
  thought: "",
  isPartial,
});
const call = (toolCallId: string): Update => ({
  sessionUpdate: "tool_call",
  toolCallId,
  stepId: "stp",
  tool: "read_file",
  title: "read_file a.py",
  kind: "read",
  status: "pending",
  rawInput: { path: "a.py" },
});
const started = (toolCallId: string): Update => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status: "in_progress",
  locations: null,
  content: null,
  images: null,
  rawOutput: null,
  error: null,
  outcome: null,
  durationMs: null,
});

test("chunks of one step grow one answer", () => {
  check([chunk("Hel"), chunk("lo")], {
    items: [{ key: 0, kind: "answer", text: "Hello" } as never],
  });
});

test("the whole answer replaces its chunks", () => {
  const state = check([chunk("Hel"), message("Hello!")], {});
  expect(itemsOf(state, "answer")).toMatchObject([
    { kept: "Hello!", text: "", isStreaming: false },
  ]);
});

test("a kept piece is followed by what streams after it", () => {
  const state = check([chunk("Hel"), message("Hel", true), chunk("lo"), message("lo")], {});
  expect(itemsOf(state, "answer")).toMatchObject([{ kept: "Hello", isStreaming: false }]);
});

test("discarded chunks leave nothing behind", () => {
  check([chunk("Hel"), { sessionUpdate: "agent_chunks_discarded", stepId: "stp" }], { items: [] });
});

test("discarded chunks leave the kept pieces", () => {
  const state = check(
    [
      message("Kept. ", true),
      chunk("x"),
      { sessionUpdate: "agent_chunks_discarded", stepId: "stp" },
    ],
    {},
  );
  expect(itemsOf(state, "answer")).toMatchObject([{ kept: "Kept. ", text: "" }]);
});

test("an answer without words is not an item", () => {
  check([message("")], { items: [] });
});

test("last words in the same step are an answer of their own", () => {
  const state = check([message("First."), chunk("Last."), message("Last.")], {});
  expect(itemsOf(state, "answer").map((one) => one.kept)).toEqual(["First.", "Last."]);
});

test("a read that starts before the model has finished stands behind the answer", () => {
  const state = check([chunk("Look."), started("c"), message("Look."), call("c")], {});
  expect(state.items.map((one) => one.kind)).toEqual(["answer", "call"]);
  expect(itemsOf(state, "call")).toMatchObject([{ tool: "read_file", status: "in_progress" }]);
});

test("only the end of a long output is kept", () => {
  const line = `${"x".repeat(99)}\n`;
  const output = (words: string): Update => ({
    sessionUpdate: "tool_call_output",
    toolCallId: "c",
    content: text(words),
  });
  const state = check([call("c"), output(line.repeat(1000)), output("end\n")], {});
  const [item] = itemsOf(state, "call");
  expect(item?.output.length).toBeLessThanOrEqual(MAX_OUTPUT);
  expect(item?.output.startsWith("x".repeat(99))).toBe(true);
  expect(item?.output.endsWith("end\n")).toBe(true);
});

test("an update of a kind from the future changes nothing", () => {
  const before = begun("s");
  expect(reduce(before, { sessionUpdate: "invented" } as unknown as Update)).toBe(before);
});

const resumed = (...calls: string[]): Update => ({
  sessionUpdate: "session_resumed",
  interruptedToolCalls: calls,
});
const turn = (turnId = "trn_1"): Update => ({
  sessionUpdate: "turn_started",
  turnId,
  anchor: null,
});
const ended = (output: string): Update => ({
  sessionUpdate: "turn_ended",
  turnId: "trn_1",
  stopReason: "completed",
  status: "success",
  output,
  failureReason: "",
  openTasks: [],
  title: "",
  failure: null,
  actions: [],
});

test("what is said after a break is an answer of its own, and the end repeats neither", () => {
  const state = check(
    [
      turn(),
      message("The first", true),
      resumed(),
      chunk(" and"),
      message(" and the second."),
      ended("The first and the second."),
    ],
    {},
  );
  expect(state.items.map((one) => one.kind)).toEqual(["answer", "resumed", "answer", "end"]);
  expect(itemsOf(state, "answer")).toMatchObject([
    { kept: "The first", isStreaming: false },
    { kept: " and the second.", isStreaming: false },
  ]);
  expect(itemsOf(state, "end")).toMatchObject([{ output: "" }]);
});

test("an end that no answer has is told", () => {
  const state = check([turn(), message("One."), message("Two."), ended("Three.")], {});
  expect(itemsOf(state, "end")).toMatchObject([{ output: "Three." }]);
});

test("breaks without a word between them are one", () => {
  const state = check([turn(), message("Half", true), resumed("a"), resumed("b")], {});
  expect(itemsOf(state, "resumed")).toMatchObject([{ interrupted: ["a", "b"] }]);
});

/** A snapshot of a turn that was cut off after these updates. */
function cutOff(...updates: Update[]): State {
  const told = snapshot([{ sessionId: "s", seq: 5, updates }]);
  return fromSnapshot({ ...told, session: { ...told.session, isInterrupted: true } });
}

test("a turn that was cut off does not run until it goes on", () => {
  const rest = cutOff(turn(), message("Half", true), resumed());
  expect(rest).toMatchObject({ turn: null, cutOff: { turn: { id: "trn_1" } } });
  const mode: Update = { sessionUpdate: "current_mode_update", currentModeId: "plan" };
  expect(reduce(rest, mode)).toMatchObject({ turn: null, mode: "plan" });
  for (const sign of [
    { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" } as const,
    chunk("more"),
  ]) {
    expect(reduce(rest, sign)).toMatchObject({ turn: { id: "trn_1" }, cutOff: null });
  }
  const over = reduce(rest, ended("Half"));
  expect(over).toMatchObject({ turn: null, cutOff: null });
  expect(itemsOf(over, "end")).toMatchObject([{ output: "" }]);
});

test("a queue that waits behind an ended turn is cut off, too", () => {
  expect(cutOff(turn(), ended("Done."))).toMatchObject({ turn: null, cutOff: { turn: null } });
});

test("what belongs to another session is left out", () => {
  const before = begun("s");
  expect(follow(before, { sessionId: "other", seq: 9, updates: [message("x")] })).toBe(before);
});

test("what a snapshot already includes is left out, streaming text is not", () => {
  const before = { ...begun("s"), seq: 5 };
  const again = follow(before, { sessionId: "s", seq: 5, updates: [message("old"), chunk("new")] });
  expect(itemsOf(again, "answer")).toMatchObject([{ kept: "", text: "new" }]);
  expect(follow(before, { sessionId: "s", seq: 4, updates: [chunk("late")] })).toBe(before);
});

test.each(STORIES)(
  "a panel that was reloaded during %s shows what one that stayed open shows",
  (name) => {
    const params = story(name);
    for (let at = 1; at <= params.length; at += 1) {
      const seen = params.slice(0, at);
      const stayed = folded(seen);
      // A step that is still streaming is told in the partial answer, which is tested for itself.
      if (stayed.items.some((one) => one.kind === "answer" && one.isStreaming)) continue;
      const plain = (state: State) => ({
        ...state,
        // Output is only ever streamed: a reloaded panel has the result instead.
        items: state.items.map((item) => ({ ...item, key: 0, output: "" })),
        nextKey: 0,
        turn: state.turn && { ...state.turn, firstKey: 0 },
      });
      expect(plain(fromSnapshot(snapshot(seen)))).toEqual(plain(stayed));
    }
  },
);

test("a partial answer in a snapshot goes on streaming", () => {
  const base = snapshot(until("fix_prices", "phase_update", 3));
  const partial = { stepId: "stp_01", text: "I'll lo", thought: "Hm." };
  const state = [chunk("ok.", "stp_01")].reduce(reduce, fromSnapshot({ ...base, partial }));
  expect(itemsOf(state, "answer")).toMatchObject([
    { text: "I'll look.", thought: "Hm.", isStreaming: true },
  ]);
});

test("an approval waits until it is resolved, and the call says how", () => {
  const asked = folded(until("fix_prices", "permission_request"));
  expect(asked.approvals).toMatchObject([{ approvalId: "apr_01", title: "Edit shop/prices.py" }]);
  const settled = folded(until("fix_prices", "permission_resolved"));
  expect(settled.approvals).toEqual([]);
  expect(itemsOf(settled, "call").find((one) => one.id === "cal_04")?.answer).toBe("allowed");
});

test("a steer waits in the queue until the model is told", () => {
  expect(folded(until("fix_prices", "prompt_queued")).queue).toEqual([
    { id: "pmt_1", text: "Also mention it in the changelog.", whenBusy: "steer" },
  ]);
  const state = folded(story("fix_prices"));
  expect(state.queue).toEqual([]);
  expect(itemsOf(state, "user").map((one) => one.isSteer)).toEqual([false, true]);
});

test("what follows a turn waits until it is a prompt of its own", () => {
  expect(folded(until("stopped_and_failed", "turn_ended")).queue).toHaveLength(1);
  expect(folded(story("stopped_and_failed")).queue).toEqual([]);
});

test("a stop takes with it what waited, and what is said after it stays", () => {
  const stop: Update = { sessionUpdate: "cancel_requested", by: "panel", returned: [] };
  check([stop], { queue: [] }, folded(until("fix_prices", "prompt_queued")));
  expect(folded(until("stopped_and_failed", "turn_ended")).queue).toHaveLength(1);
});

test("a gate's failure and the nudge after it are one item", () => {
  const state = folded(story("fix_prices"));
  expect(itemsOf(state, "gate")).toMatchObject([{ origin: "incomplete_action", isNudged: true }]);
  expect(itemsOf(state, "nudge")).toEqual([]);
});

test("what the checkers found stands where they found it", () => {
  expect(itemsOf(folded(story("fix_prices")), "findings")).toMatchObject([
    { paths: ["shop/prices.py", "tests/test_prices.py"], findings: [{ code: "F821" }] },
    { paths: ["tests/test_prices.py"], findings: [] },
  ]);
});

test("the end of a turn sums up what it did", () => {
  const state = folded(story("fix_prices"));
  const [end] = itemsOf(state, "end");
  expect(end).toMatchObject({ status: "success", steps: 6, output: "", openTasks: [] });
  expect(end?.cost).toBeCloseTo(0.0981);
  expect(end?.files.map((one) => [one.location.path, one.added, one.removed])).toEqual([
    ["shop/prices.py", 6, 3],
    ["tests/test_prices.py", 12, 1],
    ["CHANGELOG.md", 2, 0],
  ]);
  expect(state.turn).toBeNull();
});

test("a turn that is being stopped says so until it has ended", () => {
  expect(folded(until("stopped_and_failed", "cancel_requested")).turn?.isStopping).toBe(true);
  expect(folded(until("stopped_and_failed", "turn_ended")).turn).toBeNull();
});

test("a question is asked, then part of the conversation", () => {
  expect(folded(until("stopped_and_failed", "question")).questions).toMatchObject([
    { options: ["formatting", "presentation"] },
  ]);
  const state = folded(until("stopped_and_failed", "question_resolved"));
  expect(state.questions).toEqual([]);
  expect(itemsOf(state, "asked")).toMatchObject([{ answer: "formatting" }]);
});

test("mode and model follow the session", () => {
  check([], { mode: "plan", model: "ollama_chat/llama3" }, folded(story("stopped_and_failed")));
});

test("folding changes nothing in place", () => {
  const frozen = <T>(value: T): T => {
    if (value && typeof value === "object") {
      for (const one of Object.values(value)) frozen(one);
      Object.freeze(value);
    }
    return value;
  };
  for (const name of STORIES) {
    story(name).reduce((state, params) => frozen(follow(state, params)), frozen(begun("ses_01")));
  }
});

test("one trouble is one notice, updated in place and taken back", () => {
  const told = (text: string, noticeId: string) =>
    ({
      sessionUpdate: "notice",
      level: "warning",
      origin: "model",
      text,
      title: "",
      noticeId,
    }) as const;
  const tries = ["try 1", "try 2", "try 3"].map((text) => told(text, "n1"));
  const state = [told("other", ""), ...tries, told("other", "")].reduce(reduce, begun("ses_01"));
  expect(itemsOf(state, "notice").map((one) => one.text)).toEqual(["other", "try 3", "other"]);
  const after = reduce(state, told("", "n1"));
  expect(itemsOf(after, "notice").map((one) => one.text)).toEqual(["other", "other"]);
  expect(itemsOf(reduce(after, told("", "n1")), "notice")).toHaveLength(2);
});

test("what succeeded after a retry leaves nothing behind", () => {
  const titles = itemsOf(folded(until("refused_and_delegated", "notice", 4)), "notice");
  expect(titles.map((one) => one.title)).toEqual(["Rate limit of openai reached, retrying"]);
  const answered = folded(until("refused_and_delegated", "agent_message"));
  expect(itemsOf(answered, "notice")).toEqual([]);
});

test("a prompt that failed and is sent again stands once, with the newest failure", () => {
  const once = folded(until("refused_and_delegated", "turn_ended", 2));
  const twice = folded(story("refused_and_delegated"));
  for (const state of [once, twice]) {
    expect(itemsOf(state, "user").map((one) => one.text)).toEqual([
      "Round prices half up everywhere.",
      "Then run the tests.",
    ]);
    expect(itemsOf(state, "end").map((one) => one.title)).toEqual([
      "Ended with failing checks",
      "Key refused by openai",
    ]);
  }
  expect(itemsOf(twice, "end").at(-1)?.turnId).toBe("trn_03");
});

const begin = (turnId: string): Update => ({ sessionUpdate: "turn_started", turnId, anchor: null });
const prompt = (words: string): Update => ({
  sessionUpdate: "user_message_chunk",
  content: text(words),
  images: null,
  attachments: [],
  origin: "user",
});
const fail = (turnId: string, status: "failed" | "cancelled" = "failed"): Update => ({
  sessionUpdate: "turn_ended",
  turnId,
  status,
  stopReason: status === "failed" ? "error" : "cancelled",
  output: "",
  failureReason: "No.",
  title: "No",
  failure: null,
  actions: ["retry"],
  openTasks: [],
});

const KEPT: Record<string, Update[]> = {
  "another prompt": [begin("a"), prompt("one"), fail("a"), begin("b"), prompt("two")],
  "a try that did something": [
    begin("a"),
    prompt("one"),
    message("Half."),
    fail("a"),
    begin("b"),
    prompt("one"),
  ],
  "a try that called something": [
    begin("a"),
    prompt("one"),
    call("c"),
    fail("a"),
    begin("b"),
    prompt("one"),
  ],
  "a turn that was stopped": [
    begin("a"),
    prompt("one"),
    fail("a", "cancelled"),
    begin("b"),
    prompt("one"),
  ],
};

test.each(Object.entries(KEPT))("%s stays beside the next one", (_, updates) => {
  const state = check(updates, {});
  expect(itemsOf(state, "user")).toHaveLength(2);
  expect(itemsOf(state, "end")).toHaveLength(1);
});

test("the words of a rejection stay with the call", () => {
  const call = itemsOf(folded(story("refused_and_delegated")), "call").find(
    (one) => one.id === "cal_05",
  );
  expect(call).toMatchObject({
    answer: "rejected",
    note: "use the project's own check, make lint",
  });
});

test("why a check could not run is told once a session", () => {
  const told = itemsOf(folded(story("refused_and_delegated")), "findings");
  expect(told.flatMap((one) => one.problems)).toHaveLength(1);
  expect(told).toHaveLength(1);
});

test("a sub-agent is known by the call that started it", () => {
  const state = folded(story("refused_and_delegated"));
  const [call] = itemsOf(state, "call").filter((one) => one.agent);
  expect(call?.id).toBe("cal_04");
  expect(call?.agent).toMatchObject({
    kind: "explore",
    agentSessionId: "ses_02",
    status: "completed",
    steps: 3,
  });
});
