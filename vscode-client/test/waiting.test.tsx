// @vitest-environment happy-dom
// What waits for the user is read before it is allowed, and shown alike wherever it is shown.
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { ToPanel } from "../src/messages";
import { restored } from "../src/view/drafts";
import type { PermissionRequested, QuestionAsked, Update, UpdateParams } from "../src/wire";
import { all, begin, button, check, click, high, kept, known, press, root } from "./drawn";
import { said, scroll, shown, texts, told, type } from "./drawn";
import { snapshot, until } from "./golden";

const asks = () => told(until("fix_prices", "permission_request"));
const card = () => root.querySelector(".card:not([hidden])");
const isOff = (name: string) => button(name).getAttribute("aria-disabled") === "true";

/** The words that a screen reader has for why a button does not work. */
function reason(name: string): string {
  const id = button(name).getAttribute("aria-describedby");
  return (id && document.getElementById(id)?.textContent) || "";
}

/** What a running turn says next. */
function next(...updates: Update[]): ToPanel {
  return {
    type: "updates",
    params: { sessionId: known.session.sessionId, seq: known.session.seq + 1, updates },
  };
}

/** Notifications of a session, for a snapshot. */
function also(...updates: Update[]): UpdateParams[] {
  return [{ sessionId: known.session.sessionId, seq: known.session.seq, updates }];
}

/** Presses the pencil of a call that is no single text: the extension has it changed in the panel. */
async function changeHere() {
  const approvalId = known.session.approvals.at(-1)?.approvalId ?? "";
  await click(PENCIL);
  expect(said.splice(0)).toEqual([{ type: "amend", approvalId }]);
  await check({ type: "amendHere", id: approvalId });
}

const PENCIL = "Change it before it runs";
const ONCE = "Allow once";
const MORE = "Allow…";
const SESSION = "Allow for this session: every edit of a text file";

test("an approval shows the exact payload and can be allowed once", async () => {
  await check(...asks());
  expect(texts(".approval h2")).toEqual(["Edit shop/prices.py"]);
  const request = known.session.approvals[0];
  expect(`${texts(".payload .row").join("\n")}\n`.replaceAll(/^ $/gm, "")).toBe(
    request?.payload.replaceAll(/^ $/gm, ""),
  );
  expect(all(".payload .added")).toHaveLength(6);
  await click(ONCE);
  expect(said).toEqual([
    { type: "approve", approvalId: "apr_01", choice: "allow_once", note: "", argumentsJson: null },
  ]);
});

test("an answer that goes on says in words what it covers", async () => {
  await check(...asks());
  expect(texts(".choices")).toEqual([]);
  await click(MORE);
  expect(texts(".choices button")[0]).toBe(SESSION);
  await click(SESSION);
  expect(said).toMatchObject([{ choice: "allow_session" }]);
});

test("an approval is rejected with the words that were typed", async () => {
  await check(...asks());
  await type(root.querySelector(".rejection input"), "use Fraction");
  await click("Reject");
  expect(said).toMatchObject([{ choice: "reject_once", note: "use Fraction" }]);
});

test("the arguments of a call can be changed before it runs", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  await changeHere();
  await type(root.querySelector(".amend"), "{");
  expect(all(".amend")[0]?.getAttribute("aria-invalid")).toBe("true");
  await type(root.querySelector(".amend"), '{"command": "pytest"}');
  await click("Run with these");
  expect(said).toMatchObject([{ choice: "amend", argumentsJson: '{"command": "pytest"}' }]);
});

test("a call that is one text is changed in an editor, and asks on meanwhile", async () => {
  await check(...asks());
  await click(PENCIL);
  expect(said).toEqual([{ type: "amend", approvalId: "apr_01" }]);
  expect(all(".amend")).toEqual([]);
  await click(ONCE);
  expect(said).toHaveLength(2);
});

test("an answer is given once, and again only if it did not count", async () => {
  await check(...asks());
  await click(ONCE);
  await click(ONCE);
  expect(said).toHaveLength(1);
  await check({ type: "unsettled", id: "apr_01", problem: "The server does not run." });
  expect(texts(".approval .problem")).toEqual(["The server does not run."]);
  await click(ONCE);
  expect(said).toHaveLength(2);
});

test("an approval that somebody else settled goes away", async () => {
  await check(...told(until("fix_prices", "permission_resolved")));
  expect(all(".approval")).toEqual([]);
});

test("what a payload or an argument hides is spelled out", async () => {
  const params = until("fix_prices", "permission_request", 2);
  for (const update of params.at(-1)?.updates ?? []) {
    if (update.sessionUpdate !== "permission_request") continue;
    update.payload = "rm -rf /\u202e tmp\u0007";
    update.rawInput = { command: "rm \u202e\u{e0041} tmp" };
  }
  await check(...told(params));
  expect(texts(".payload")).toEqual(["rm -rf /\\u{202e} tmp\\u{7}"]);
  await changeHere();
  const area = root.querySelector<HTMLTextAreaElement>(".amend");
  expect(area?.value).toContain("rm \\u202e\\udb40\\udc41 tmp");
  expect(JSON.parse(area?.value ?? "")).toEqual({ command: "rm \u202e\u{e0041} tmp" });
});

test("the second click of a double click answers nothing", async () => {
  await check(...asks());
  button(ONCE).dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
  expect(said).toEqual([]);
});

test("a command's line ends are marked, a diff's are not", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  expect(all(".payload.command")).toHaveLength(1);
  await check(...asks());
  expect(all(".payload.command")).toHaveLength(0);
});

// Reading to the end.

test("nothing is allowed before the end of the payload was on the screen", async () => {
  high(".payload", 170, 2_003);
  await check(...asks());
  expect([isOff(ONCE), isOff(MORE)]).toEqual([true, true]);
  expect([reason(ONCE), reason(MORE)]).toEqual(Array(2).fill("Read to the end first"));
  await click(ONCE);
  await click(MORE);
  expect([said, texts(".choices")]).toEqual([[], []]);
  await scroll(all(".payload")[0], 1_800);
  expect(isOff(ONCE)).toBe(true);
  await scroll(all(".payload")[0], 1_833);
  expect([isOff(ONCE), reason(ONCE), texts(".read-first")]).toEqual([false, "", []]);
  // Back at its beginning, it was seen all the same.
  await scroll(all(".payload")[0], 0);
  await click(MORE);
  await click(SESSION);
  expect(said).toMatchObject([{ choice: "allow_session" }]);
});

test("what fits is read at once, and a rejection needs no reading", async () => {
  await check(...asks());
  expect([isOff(ONCE), texts(".read-first")]).toEqual([false, []]);
  begin();
  high(".payload", 170, 2_003);
  await check(...asks());
  await click("Reject");
  expect(said).toMatchObject([{ choice: "reject_once" }]);
});

test("a button leads to the end, and the payload has the focus for the keyboard", async () => {
  high(".payload", 170, 2_003);
  await check(...asks());
  await click("Read to the end first");
  expect(document.activeElement).toBe(all(".payload")[0]);
  expect(all(".payload")[0]?.getAttribute("tabindex")).toBe("0");
  expect(isOff(ONCE)).toBe(false);
});

test("a payload below the edge of the card is not seen, whatever its own box shows", async () => {
  high(".card", 100, 500);
  await check(...asks());
  expect(isOff(ONCE)).toBe(true);
  await scroll(all(".card")[0], 400);
  expect(isOff(ONCE)).toBe(false);
});

test("changed arguments are read to their end before they run", async () => {
  high(".amending", 170, 2_003);
  await check(...told(until("fix_prices", "permission_request", 2)));
  await changeHere();
  expect([isOff("Run with these"), reason("Run with these")]).toEqual([
    true,
    "Read to the end first",
  ]);
  await click("Run with these");
  expect(said).toEqual([]);
  await click("Read to the end first");
  await click("Run with these");
  expect(said).toMatchObject([{ choice: "amend" }]);
});

test("the extension is told what is shown and whether it was read", async () => {
  high(".payload", 170, 2_003);
  await check(...asks());
  expect(shown.at(-1)).toEqual({ type: "shown", id: "apr_01", isRead: false });
  await click("Read to the end first");
  expect(shown.at(-1)).toEqual({ type: "shown", id: "apr_01", isRead: true });
  await check(...told(until("fix_prices", "permission_resolved")).slice(-1));
  expect(shown.at(-1)).toEqual({ type: "shown", id: null, isRead: false });
});

// Plans.

test("a question is answered by an option or in words", async () => {
  await check(...told(until("stopped_and_failed", "question")));
  expect(all(".question strong")).toHaveLength(1);
  await click("formatting");
  expect(said).toEqual([{ type: "answer", questionId: "qst_1", text: "formatting" }]);
});

const PLAN: QuestionAsked = {
  sessionUpdate: "question",
  questionId: "qst_9",
  origin: "plan",
  text: "The proposed plan has 3 steps. Which of them may run?\n1. Edit a.py\n   *x*",
  options: ["all", "one by one", "none"],
  steps: [
    {
      toolCallId: "cal_a-p",
      title: "Edit a.py",
      kind: "edit",
      payload: "@@ -1 +1 @@\n-*x*\n+# y\n",
      isAskedAgain: false,
    },
    {
      toolCallId: "cal_b-p",
      title: "Run: make",
      kind: "execute",
      payload: "make\n(in /shop)",
      isAskedAgain: false,
    },
    {
      toolCallId: "cal_c-p",
      title: "Delete b.py",
      kind: "delete",
      payload: "-b",
      isAskedAgain: true,
    },
  ],
};
const plan = () => told([{ sessionId: "ses_01", seq: 1, updates: [PLAN] }]);

test("a plan shows each step as an approval shows a call, not as prose", async () => {
  await check(...plan());
  expect(texts(".steps label")).toEqual(["1. Edit a.py", "2. Run: make", "3. Delete b.py"]);
  expect(texts(".steps .payload .row")).toEqual([
    ..."@@ -1 +1 @@|-*x*|+# y|make|(in /shop)|-b".split("|"),
  ]);
  expect(all(".question em")).toEqual([]);
  expect(texts(".steps .dim")).toHaveLength(1);
});

test("each button of a plan says what it does, and the chosen steps run", async () => {
  for (const [name, text] of [
    ["Run 3 steps", "all"],
    ["Ask before each step", "one by one"],
    ["Run nothing", "none"],
  ] as const) {
    begin();
    await check(...plan());
    await click(name);
    expect(said).toEqual([{ type: "answer", questionId: "qst_9", text }]);
  }
  begin();
  await check(...plan());
  await act(() => all<HTMLInputElement>(".steps input")[1]?.click());
  await click("Run 2 of 3 steps");
  expect(said).toEqual([{ type: "answer", questionId: "qst_9", text: "1, 3" }]);
});

test("a step that was out of sight was not read", async () => {
  high(".steps", 300, 900);
  await check(...plan());
  expect([isOff("Run 3 steps"), reason("Run 3 steps")]).toEqual([
    true,
    "Read to the end first: 2 steps not seen yet",
  ]);
  // A jump to the end shows the last step and not the one between.
  await scroll(all(".steps")[0], 600);
  expect(reason("Run 3 steps")).toBe("Read to the end first");
  await click("Run 3 steps");
  expect(said).toEqual([]);
  await click("Read to the end first");
  expect(all(".steps")[0]?.scrollTop).toBe(300);
  await click("Run 3 steps");
  expect(said).toMatchObject([{ text: "all" }]);
});

test("a step that is not to run need not be read", async () => {
  high(".steps", 600, 900);
  await check(...plan());
  expect(isOff("Run 3 steps")).toBe(true);
  await act(() => all<HTMLInputElement>(".steps input")[2]?.click());
  expect(isOff("Run 2 of 3 steps")).toBe(false);
  await act(() => all<HTMLInputElement>(".steps input")[2]?.click());
  expect(isOff("Run 3 steps")).toBe(true);
});

test("to run nothing, or to be asked at each step, needs no reading", async () => {
  for (const name of ["Ask before each step", "Run nothing"]) {
    begin();
    high(".steps", 100, 900);
    await check(...plan());
    await click(name);
    expect(said).toHaveLength(1);
  }
});

const ANSWERS: [string, string][] = [
  ["all", "Run all 3 steps"],
  ["OK", "Run all 3 steps"],
  ["none", "Run nothing"],
  ["one by one", "Ask before each step"],
  ["2", "Run step 2"],
  ["1, 3", "Run steps 1 and 3"],
  ["1-9", "Run steps 1, 2 and 3"],
  ["7", "7"],
  ["First the tests", "First the tests"],
];

test("an answered plan stays as a card with its steps, and its answer in words", async () => {
  for (const [text, words] of ANSWERS) {
    begin();
    await check(...plan());
    await check(
      next({ sessionUpdate: "question_resolved", questionId: "qst_9", text, by: "user" }),
    );
    expect(texts(".transcript .planned .reply")).toEqual([`You answered: ${words}`]);
  }
  expect(texts(".transcript .planned .words")).toEqual([
    "1. Edit a.py",
    "2. Run: make",
    "3. Delete b.py",
  ]);
  expect(all(".transcript .markdown")).toEqual([]);
  await act(() => all<HTMLElement>(".transcript .steps .line")[1]?.click());
  expect(texts(".transcript .payload.command .row")).toEqual(["make", "(in /shop)"]);
});

const marks = () => texts(".transcript .steps .facts");

test("each step of an answered plan says what became of it", async () => {
  const call = (toolCallId: string, status: "in_progress" | "completed" | "failed"): Update => ({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status,
    locations: null,
    content: null,
    images: null,
    rawOutput: null,
    error: status === "failed" ? "runtime" : null,
    outcome: null,
    durationMs: null,
  });
  await check(...plan());
  await check(
    next({ sessionUpdate: "question_resolved", questionId: "qst_9", text: "1-2", by: "user" }),
  );
  expect(marks()).toEqual(["to run", "to run", "not chosen"]);
  await check(next(call("cal_a-p", "in_progress")));
  expect(marks()).toEqual(["running", "to run", "not chosen"]);
  await check(next(call("cal_a-p", "completed"), call("cal_b-p", "failed")));
  expect(marks()).toEqual(["ran", "failed", "not chosen"]);
});

test("what was to run and did not until the turn was over did not run", async () => {
  await check(...plan());
  const updates: Update[] = [
    { sessionUpdate: "question_resolved", questionId: "qst_9", text: "all", by: "user" },
    {
      sessionUpdate: "turn_ended",
      turnId: "trn_01",
      stopReason: "cancelled",
      status: "cancelled",
      output: "",
      failureReason: "",
      openTasks: [],
      title: "",
      failure: null,
      actions: [],
    },
  ];
  await check(next(...updates));
  expect(marks()).toEqual(Array(3).fill("did not run"));
});

// Several that wait.

const OTHER: PermissionRequested = {
  sessionUpdate: "permission_request",
  approvalId: "apr_08",
  toolCallId: "cal_08",
  tool: "run_command",
  title: "Run: make",
  kind: "execute",
  reason: "",
  payload: "make\n(in /shop)",
  location: null,
  grant: null,
  options: [
    { optionId: "allow_once", name: "Allow once" },
    { optionId: "reject_once", name: "Reject" },
  ],
  rawInput: null,
};

const QUESTION: QuestionAsked = { ...PLAN, text: "Which one?", options: ["a", "b"], steps: [] };
const at = () => texts(".needs-you > span").join();

async function three(): Promise<void> {
  await check(...asks());
  await check(next(OTHER));
  await check(next(QUESTION));
}

test("approvals and questions are in one list that can be looked through", async () => {
  await three();
  expect([at(), texts(".card:not([hidden]) h2")]).toEqual([
    "Needs you 1/3",
    ["Edit shop/prices.py"],
  ]);
  await click("Look at the previous one");
  expect(at()).toBe("Needs you 1/3");
  await click("Look at the next one");
  expect([at(), texts(".card:not([hidden]) h2")]).toEqual(["Needs you 2/3", ["Run this command?"]]);
  await click("Look at the next one");
  expect([at(), card()?.matches(".question")]).toEqual(["Needs you 3/3", true]);
  await click("Look at the next one");
  expect([at(), said]).toEqual(["Needs you 3/3", []]);
  await click("b");
  expect(said).toMatchObject([{ type: "answer", text: "b" }]);
});

test("one that waits alone has no list around it", async () => {
  await check(...asks());
  expect(all(".needs-you")).toEqual([]);
});

test("what is looked at stays when something comes or something else is settled", async () => {
  await check(...asks());
  await check(next(OTHER));
  await click("Look at the next one");
  await check(next(QUESTION));
  expect([at(), texts(".card:not([hidden]) h2")]).toEqual(["Needs you 2/3", ["Run this command?"]]);
  const settled = (approvalId: string) =>
    next({
      sessionUpdate: "permission_resolved",
      approvalId,
      outcome: "allow_once",
      by: "user",
      note: "",
    });
  await check(settled("apr_01"));
  expect([at(), texts(".card:not([hidden]) h2")]).toEqual(["Needs you 1/2", ["Run this command?"]]);
  await check(settled("apr_08"));
  expect([at(), card()?.matches(".question")]).toEqual(["", true]);
});

test("one that was not looked at was not read, although it would fit", async () => {
  await three();
  expect(shown.at(-1)).toMatchObject({ id: "apr_01", isRead: true });
  await click("Look at the next one");
  expect(shown.filter((one) => one.id === "apr_08").map((one) => one.isRead)).toEqual([
    false,
    true,
  ]);
});

test("the extension can ask for one, also before it is known", async () => {
  await check(running(), { type: "attend", id: "apr_08" });
  await three();
  expect(at()).toBe("Needs you 2/3");
  expect(document.activeElement).toBe(card()?.querySelector(".payload"));
  await check({ type: "attend", id: "qst_9" });
  expect(at()).toBe("Needs you 3/3");
  expect(document.activeElement).toBe(card()?.querySelector("input"));
  await click("Look at the previous one");
  expect(at()).toBe("Needs you 2/3");
});

function running(): ToPanel {
  return { type: "server", server: { is: "running" } };
}

// Half-written answers.

const field = () => card()?.querySelector<HTMLInputElement>(".rejection input") ?? null;

test("a half-written answer stays over a look at another one and over a reload", async () => {
  await three();
  await type(field(), "use Frac");
  await click("Look at the next one");
  expect(field()?.value).toBe("");
  await click("Look at the next one");
  await type(field(), "the thi");
  const updates = [...until("fix_prices", "permission_request"), ...also(OTHER, QUESTION)];
  begin(restored(kept()));
  await check({ type: "snapshot", snapshot: snapshot(updates) });
  expect(field()?.value).toBe("use Frac");
  await click("Look at the next one");
  await click("Look at the next one");
  expect(field()?.value).toBe("the thi");
});

test("changed arguments stay over a look at what was asked and over a reload", async () => {
  const whole = snapshot(until("fix_prices", "permission_request", 2));
  const area = () => root.querySelector<HTMLTextAreaElement>(".amend");
  await check({ type: "snapshot", snapshot: whole });
  await changeHere();
  await type(area(), '{"command": "pytest -x"}');
  await click(PENCIL);
  expect(area()).toBeNull();
  await changeHere();
  expect(area()?.value).toBe('{"command": "pytest -x"}');
  begin(restored(kept()));
  await check({ type: "snapshot", snapshot: whole });
  expect(area()?.value).toBe('{"command": "pytest -x"}');
});

const rows = () => all<HTMLTextAreaElement>(".unsent textarea").map((one) => one.value);

test("an answer that was sent is gone, one that was not is with the unsent prompts", async () => {
  const resolve = (note: string) =>
    next({
      sessionUpdate: "permission_resolved",
      approvalId: "apr_01",
      outcome: "reject_once",
      by: "user",
      note,
    });
  await check(...asks());
  await type(field(), "use Fraction ");
  await click("Reject");
  await check(resolve("use Fraction"));
  expect([rows(), kept().answers]).toEqual([[], {}]);
  begin();
  await check(...asks());
  await type(field(), "use Fraction");
  await check(resolve(""));
  expect([rows(), kept().answers]).toEqual([["use Fraction"], {}]);
  expect(texts(".unsent .why-unsent")).toEqual(["It was settled before you sent this."]);
});

test("a half-written answer to a question that a stop ended is not lost", async () => {
  await check(...plan());
  await type(field(), "first the tests");
  await press(field(), "Escape");
  await check(
    next({
      sessionUpdate: "turn_ended",
      turnId: "trn_01",
      stopReason: "cancelled",
      status: "cancelled",
      output: "",
      failureReason: "",
      openTasks: [],
      title: "",
      failure: null,
      actions: [],
    }),
  );
  expect(rows()).toEqual(["first the tests"]);
});
