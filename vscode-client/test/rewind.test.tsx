// @vitest-environment happy-dom
// From each prompt there is a way back: to change it, to try it again; files only when asked to.
import { expect, test } from "vitest";
import type { ToPanel } from "../src/messages";
import type { ReviewFileResult, ReviewTurn } from "../src/wire";
import { all, begin, button, check, click, forget, hear, press, root, said } from "./drawn";
import { draw, known, texts, told, type } from "./drawn";
import { folded, itemsOf, snapshot, story, until } from "./golden";

const SESSION = "ses_01";
const FIX = "Prices are off by a cent. Fix the rounding and add a test.";
const changed: ReviewTurn = {
  sessionId: SESSION,
  turnId: "trn_01",
  prompt: FIX,
  toolCallIds: ["cal_05"],
  leftFiles: 0,
  files: [],
};
const first = () => {
  const [item] = itemsOf(folded(story("fix_prices")), "user");
  if (!item?.turnId) throw new Error("no turn");
  return { turnId: item.turnId, words: item.text.split("\n")[0] ?? "" };
};
const file = (path: string, more: Partial<ReviewFileResult>): ReviewFileResult => ({
  location: { path, uri: `file:///w/${path}`, line: null },
  turnId: "trn_01",
  status: "done",
  hunks: 1,
  reason: "",
  edit: "change",
  conflict: null,
  ...more,
});
const foreseen = (...files: ReviewFileResult[]): ToPanel => ({
  type: "restore",
  momentId: first().turnId,
  restore: { is: "foreseen", files },
});
const card = () => texts(".rewinding h2, .rewinding li, .rewinding label, .rewinding button");
const trial = () => ({
  type: "restore",
  sessionId: SESSION,
  moment: { turnId: first().turnId, toolCallId: null },
  isTrial: true,
});

async function asked(name: "edit" | "retry", ...more: ToPanel[]): Promise<void> {
  const turn = { ...changed, turnId: first().turnId };
  await check(...told(story("fix_prices")), { type: "review", turns: [turn] });
  const { words } = first();
  await click(name === "edit" ? `Edit the prompt “${words}”` : `Try the prompt “${words}” again`);
  await check(...more);
}

test("only a prompt that began a turn has a way back, also in a session with sub-agents", async () => {
  for (const name of ["fix_prices", "stopped_and_failed", "refused_and_delegated"] as const) {
    begin();
    await check(...told(story(name)));
    const begun = itemsOf(known.session, "user").filter((one) => one.turnId);
    expect(all(".rewind .edit")).toHaveLength(begun.length);
    expect(all(".rewind .retry")).toHaveLength(begun.length);
  }
});

test("a prompt is edited: the files that go back are seen first, and the yes says which", async () => {
  await asked("edit");
  expect(said).toEqual([trial()]);
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Edit this prompt");
  // Nobody says yes to what they have not seen.
  await click("Edit");
  expect(said).toHaveLength(1);
  await check(
    foreseen(file("a.py", {}), file("b.py", { status: "conflict", reason: "typed over" })),
  );
  expect(card()).toEqual([
    "Edit this prompt",
    "Bring 1 file back too. What you typed stays.",
    "a.py goes back",
    "b.py stays as it is: typed over",
    "Edit",
    "Cancel",
  ]);
  await click("Edit");
  const { turnId } = first();
  expect(said[1]).toEqual({
    type: "rewind",
    sessionId: SESSION,
    turnId,
    then: "edit",
    filesTurnId: turnId,
    isOtherModel: false,
  });
});

test("the conversation alone goes back when the files are not wanted", async () => {
  await asked("retry", foreseen(file("a.py", {})));
  const box = root.querySelector<HTMLInputElement>(".rewinding input");
  box?.click();
  await draw();
  expect(card()[2]).toBe("a.py stays as it is");
  await click("With Another Model…");
  expect(said[1]).toMatchObject({ then: "retry", filesTurnId: null, isOtherModel: true });
});

test("where nothing was changed it is not asked about files", async () => {
  await check(...told(story("fix_prices")));
  await click(`Try the prompt “${first().words}” again`);
  expect(card()).toEqual(["Try this prompt again", "Try Again", "With Another Model…", "Cancel"]);
  await click("Try Again");
  // Once: a double click would make two sessions.
  await click("Try Again");
  expect(said).toEqual([
    expect.objectContaining({ type: "rewind", then: "retry", filesTurnId: null }),
  ]);
});

test("while a turn runs it says what happens; after the stop the files are looked at", async () => {
  const running = until("fix_prices", "tool_call_output");
  const turn = { ...changed, turnId: first().turnId };
  await check(...told(running), { type: "review", turns: [turn] });
  await click(`Edit the prompt “${first().words}”`);
  expect(texts(".rewinding p")[0]).toMatch(/still works. Stop it first: what it did stays/);
  expect(card()).toEqual(["Edit this prompt", "Stop", "Cancel"]);
  await click("Stop");
  expect(said).toEqual([{ type: "stop" }]);
  forget();
  const seq = (running.at(-1)?.seq ?? 0) + 1;
  const [ended] = story("stopped_and_failed")
    .flatMap((one) => one.updates)
    .filter((one) => one.sessionUpdate === "turn_ended");
  if (!ended) throw new Error("no end");
  await check({ type: "updates", params: { sessionId: SESSION, seq, updates: [ended] } });
  expect(said).toEqual([trial()]);
});

test("by the keyboard: Escape leaves, and the focus is where it was", async () => {
  await asked("edit", foreseen(file("a.py", {})));
  const opener = `Edit the prompt “${first().words}”`;
  expect(button(opener).getAttribute("aria-expanded")).toBe("true");
  await press(document.activeElement, "Escape");
  expect(card()).toEqual([]);
  expect(document.activeElement?.textContent).toBe(opener);
  expect(said).toHaveLength(1);
});

test("one thing is asked at a time", async () => {
  await asked("edit", foreseen(file("a.py", {})));
  await click(`Try the prompt “${first().words}” again`);
  expect(texts(".card.restoring h2")).toEqual(["Try this prompt again"]);
  const restore = all<HTMLElement>(".user .restore")[0];
  restore?.click();
  await draw();
  await check(foreseen(file("a.py", {})));
  expect(texts(".card.restoring h2")).toEqual(["Restore 1 file to before this turn?"]);
  await click(`Edit the prompt “${first().words}”`);
  expect(texts(".card.restoring h2")).toEqual(["Edit this prompt"]);
});

test("why it came to nothing is said where it was asked, once", async () => {
  await asked("edit", foreseen());
  const problem: ToPanel = { type: "notRewound", turnId: first().turnId, problem: "It is gone." };
  await click("Edit");
  await check(problem);
  expect(texts(".rewinding [role=alert]")).toEqual(["It is gone."]);
  await click("Edit");
  expect(texts(".rewinding [role=alert]")).toEqual([]);
  await check(problem);
  await click("Cancel");
  await click(`Edit the prompt “${first().words}”`);
  expect(texts(".rewinding [role=alert]")).toEqual([]);
});

const fork = (sessionId = "ses_fork"): ToPanel => {
  const whole = snapshot([]);
  return { type: "snapshot", snapshot: { ...whole, session: { ...whole.session, sessionId } } };
};
const rewound: ToPanel = {
  type: "rewound",
  sessionId: "ses_fork",
  from: { sessionId: SESSION, title: "Fix the rounding" },
};
const chips = [
  {
    kind: "image" as const,
    name: "shot.png",
    title: "shot.png",
    part: {
      type: "sent" as const,
      sessionId: SESSION,
      turnId: "t",
      kind: "image" as const,
      index: 0,
    },
  },
];

test("the prompt comes back with what went with it, and what was half written stays", async () => {
  await asked("edit");
  const field = () => root.querySelector<HTMLTextAreaElement>(".box textarea");
  await type(field(), "for later");
  // They may come within one frame.
  hear(fork(), rewound, { type: "compose", text: "Fix it", chips });
  await draw();
  expect(field()?.value).toBe("Fix it");
  expect(document.activeElement).toBe(field());
  expect(texts(".chips .chip .name")).toContain("shot.png");
  forget();
  await press(field(), "Enter");
  expect(said).toEqual([{ type: "prompt", text: "Fix it", whenBusy: "steer", chips }]);
  await check({ type: "snapshot", snapshot: snapshot(story("fix_prices")) });
  expect(field()?.value).toBe("for later");
});

test("words that were written for the next session stay behind the prompt", async () => {
  await check(...told([]), fork("ses_new"));
  const field = () => root.querySelector<HTMLTextAreaElement>(".box textarea");
  await type(field(), "half a thought");
  await check(fork(), rewound, { type: "compose", text: "Fix it", chips });
  expect(field()?.value).toBe("Fix it\n\nhalf a thought");
});

test("where the session comes from is said, opened, and put away", async () => {
  await check(...told(story("fix_prices")), fork(), rewound);
  expect(texts(".origin .what")).toEqual(["From “Fix the rounding”"]);
  await click("Open “Fix the rounding”");
  expect(said).toEqual([{ type: "openSession", sessionId: SESSION }]);
  await check(fork());
  expect(all(".origin")).toHaveLength(1);
  await click("Hide where this comes from");
  expect(all(".origin")).toHaveLength(0);
  await check(rewound, { type: "snapshot", snapshot: snapshot(story("fix_prices")) });
  expect(all(".origin")).toHaveLength(0);
});
