// @vitest-environment happy-dom
// The panel shows what the state says, and asks for what a user does.
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import type { ToPanel } from "../src/messages";
import { watchChords } from "../src/view/chords";
import { drafted, NO_DRAFTS } from "../src/view/drafts";
import { Keeper, type Kept, type PageState } from "../src/view/kept";
import type { KeptPlace } from "../src/view/place";
import type {
  ConfigResult,
  ReviewFile,
  ReviewFileResult,
  ReviewHunk,
  ReviewTurn,
  UpdateParams,
} from "../src/wire";
import {
  all,
  begin,
  check,
  click,
  draw,
  hear,
  known,
  press,
  root,
  running,
  said,
  texts,
  told,
} from "./drawn";
import { snapshot, STORIES, story, until } from "./golden";

test("nothing is claimed before the session has been told", async () => {
  await check(running);
  expect(texts("h1")).toEqual([]);
  expect(texts(".coming")).toEqual([" The agent starts"]);
  await check({ type: "snapshot", snapshot: snapshot([]) });
  expect(texts("h1")).toEqual(["What shall we change?"]);
  expect(texts(".coming")).toEqual([]);
});

test("without anything to work on the panel says what to open", async () => {
  await check(running, { type: "refused", problem: "Open a file or a folder first." });
  expect(texts(".welcome p")).toEqual(["Open a file or a folder first."]);
  await check({ type: "snapshot", snapshot: snapshot([]) });
  expect(texts(".welcome p")).toEqual([]);
});

test("a turn reads from top to bottom", async () => {
  await check(...told(story("fix_prices")));
  expect(texts(".user")[0]).toContain("Prices are off by a cent");
  expect(texts(".call .verb")).toEqual([
    "Read 2 files, 1 search",
    "Edit",
    "Edit",
    "Run",
    "Edit",
    "Edit",
    "Read",
    "Run",
  ]);
  expect(texts(".end .verb")).toEqual(["Done"]);
  expect(texts(".end .file")).toEqual([
    "prices.pyshop+6−3",
    "test_prices.pytests+12−1",
    "CHANGELOG.md+2",
  ]);
  expect(texts(".usage span")).toEqual([expect.stringMatching(/^\d+ %$/), "$0.0981"]);
});

test("streaming text appears before the answer is complete", async () => {
  await check(...told(until("fix_prices", "agent_message_chunk", 1)));
  expect(texts(".answer .markdown")).toEqual(["I'll look at how prices are\n"]);
});

test("a running command shows what it prints, without terminal codes", async () => {
  await check(...told(until("fix_prices", "tool_call_output", 2)));
  expect(texts(".live")[0]).toMatch(/^E +\[100%\]\nERROR tests/);
});

test("a command that did not end with 0 shows how it ended", async () => {
  const params = structuredClone(story("fix_prices"));
  const ends = params.flatMap((one) => one.updates).filter((one) => "rawOutput" in one);
  for (const one of ends) Object.assign(one, { rawOutput: { exit_code: 3 }, status: "completed" });
  await check(...told(params));
  expect(texts(".call .bad-exit")[0]).toBe("exit code 3");
  expect(all(".call .icon.warning").length).toBeGreaterThan(0);
});

test("a call that did not run says so, and not that it is done", async () => {
  const params = structuredClone(story("fix_prices"));
  const ends = params.flatMap((one) => one.updates).filter((one) => "rawOutput" in one);
  for (const one of ends) Object.assign(one, { outcome: "queued", status: "completed" });
  await check(...told(params));
  expect(texts(".call .facts")[0]).toContain("queued");
  expect(texts(".call .facts")[0]).not.toContain("done");
  expect(all(".call .icon.refused").length).toBeGreaterThan(0);
});

test("the second key of a chord is not typed", () => {
  const page = new EventTarget();
  watchChords(page, false);
  const isTyped = (key: string, more: KeyboardEventInit = {}) =>
    page.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true, ...more }));
  expect(isTyped("y")).toBe(true);
  isTyped("k", { ctrlKey: true });
  isTyped("Shift", { shiftKey: true });
  expect(isTyped("y")).toBe(false);
  expect(isTyped("y")).toBe(true);
  isTyped("k", { metaKey: true });
  expect(isTyped("y")).toBe(true);
  // The editor goes by the place of a key with another letter.
  isTyped("л", { ctrlKey: true, code: "KeyK" });
  expect(isTyped("н")).toBe(false);
  for (const key of ["n", "Enter", "Escape", "k"]) {
    isTyped("k", { ctrlKey: true });
    expect(isTyped(key)).toBe(false);
    expect(isTyped("y")).toBe(true);
  }
});

test("a failed server says what to do and offers it", async () => {
  await check({
    type: "server",
    server: { is: "failed", problem: "Not installed.", advice: "Run `uv tool install agent-ls`." },
  });
  expect(texts(".banner p")).toEqual([" Not installed.", "Run uv tool install agent-ls."]);
  await click("Restart");
  expect(said).toEqual([{ type: "run", command: "restartServer" }]);
});

test("problems of the settings are shown", async () => {
  const config: ConfigResult = {
    sessionId: "s",
    mode: "ask",
    model: "openai/gpt-5",
    effort: "",
    silenced: [],
    modes: [{ id: "ask", name: "Ask first", description: "" }],
    roots: [],
    problems: ["config.toml: unknown key modle"],
  };
  await check(running, { type: "config", config });
  expect(texts(".banner.warning")).toEqual(["1 problem in the settings"]);
  await act(() => (root.querySelector(".banner .line") as HTMLElement).click());
  expect(texts(".banner.warning p")).toEqual(["config.toml: unknown key modle"]);
  expect(texts(".choice .name")[0]).toBe("Ask first");
});

test("links of an answer ask the extension and lead nowhere by themselves", async () => {
  await check(...told(story("fix_prices")));
  const links = all(".markdown a");
  expect(links.map((one) => one.getAttribute("href"))).toEqual([null, null]);
  await act(() => (links[0] as HTMLElement).click());
  await press(links[1] ?? null, "Enter");
  expect(said).toEqual([
    { type: "link", href: "shop/prices.py#L13" },
    { type: "link", href: "https://peps.python.org/pep-0327/" },
  ]);
});

test("code is copied as it was written", async () => {
  await check(...told(story("fix_prices")));
  await click("Copy");
  expect(said).toMatchObject([{ type: "copy", text: /^def discounted\(price: Decimal.*\n$/s }]);
});

test("a changed file opens at a click", async () => {
  await check(...told(story("fix_prices")));
  await click("prices.pyshop+6−3");
  expect(said).toEqual([{ type: "open", uri: "file:///home/ada/shop/shop/prices.py", line: null }]);
});

test("a call opens to its arguments and its result", async () => {
  await check(...told(story("fix_prices")));
  await act(() => root.querySelector<HTMLElement>(".group .line")?.click());
  const line = root.querySelector(".group .call .line") as HTMLElement;
  expect(line.getAttribute("aria-expanded")).toBe("false");
  await act(() => line.click());
  expect(line.getAttribute("aria-expanded")).toBe("true");
  const [first, second] = texts(".group .call .text");
  expect(first).toBe("shop/prices.py");
  expect(second).toContain("def discounted");
});

test("the plan says how far it is and opens to the whole", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  expect(texts(".plan .verb")).toEqual(["To do 2/3"]);
  await act(() => (root.querySelector(".plan .line") as HTMLElement).click());
  expect(texts(".plan li")).toEqual([
    "Use Decimal in prices.pydone",
    "Cover half percentages in the testsdone",
    "Run the testsin progress",
  ]);
});

test("a screen reader is told what a sighted user sees happen", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  expect(texts('[role="alert"]')).toEqual(["Approval needed: Edit shop/prices.py"]);
  await check(...told(story("fix_prices")).slice(2));
  const [said] = texts('main > [role="status"]');
  expect(said).toMatch(/^The agent has ended: Done\. Done\. Discounts are computed in Decimal/);
  expect(said).not.toMatch(/[*`]|\]\(/);
  expect(texts('[role="alert"]')).toEqual([""]);
});

test("what was answered is no alert any more", async () => {
  await check(...told(until("stopped_and_failed", "question")));
  expect(texts('[role="alert"]')).toEqual([
    "The agent asks: The module formats money and dates. Which name do you prefer?",
  ]);
  await check(...told(until("stopped_and_failed", "question_resolved")).slice(-1));
  expect(texts('[role="alert"]')).toEqual([""]);
});

test("a turn that begins and fails within one drawing is announced", async () => {
  const params = story("stopped_and_failed");
  const start = params.findIndex((one) =>
    one.updates.some(
      (update) => update.sessionUpdate === "turn_started" && update.turnId === "trn_03",
    ),
  );
  await check(...told(params.slice(0, start)));
  hear(...params.slice(start).map((one) => ({ type: "updates", params: one }) as const));
  await draw();
  expect(texts('main > [role="status"]')).toEqual([
    "The agent has ended: Cannot reach ollama_chat. The model at localhost:11434 does not answer. Start Ollama, or choose another model.",
  ]);
});

test("an error is one card with what to do, and the reason on demand", async () => {
  await check(...told(story("refused_and_delegated")));
  expect(texts(".outcome.failed h2")).toEqual(["Key refused by openai"]);
  expect(texts(".outcome.failed .next button").map((one) => one.trim())).toEqual([
    "Change key",
    "Retry",
    "Other model",
    "Why",
  ]);
  expect(texts(".outcome.failed .reason")).toEqual([]);
  await act(() => root.querySelector<HTMLElement>(".outcome.failed .reasons .line")?.click());
  await click("Change key");
  await click("Retry");
  await click("Other model");
  expect(texts(".outcome.failed .reason")[0]).toContain("openai does not accept the key");
  expect(said).toEqual([
    { type: "run", command: "changeKey" },
    { type: "again", turnId: expect.stringMatching(/^trn_/) as string },
    { type: "run", command: "pickModel" },
  ]);
  // Of an earlier end there is nothing left to decide.
  expect(texts(".outcome.partial .next button")).toEqual(["Why"]);
});

test("a turn that the user stopped can go on, while nothing follows it", async () => {
  const stopped = (turnId: string): UpdateParams => ({
    sessionId: "ses_01",
    seq: 1,
    updates: [
      { sessionUpdate: "turn_started", turnId, anchor: null },
      {
        sessionUpdate: "turn_ended",
        turnId,
        stopReason: "cancelled",
        status: "cancelled",
        output: "",
        failureReason: "",
        openTasks: [],
        title: "Stopped",
        failure: null,
        actions: [],
      },
    ],
  });
  await check(running, {
    type: "snapshot",
    snapshot: snapshot([stopped("trn_1"), stopped("trn_2")]),
  });
  expect(texts(".end button")).toEqual(["Go on"]);
  await click("Go on");
  expect(said).toEqual([{ type: "prompt", text: "Go on.", whenBusy: "steer" }]);
});

test("every next step that a server may offer has a button that does something", async () => {
  const actions = ["retry", "go_on", "change_key", "sign_in", "choose_model"] as const;
  const params = structuredClone(story("refused_and_delegated"));
  const last = params.at(-1)?.updates.at(-1);
  const more = ["new_session", "open_settings", "show_log"] as const;
  if (last?.sessionUpdate === "turn_ended") last.actions = [...actions, ...more];
  await check(...told(params));
  const buttons = all<HTMLButtonElement>(".outcome.failed .next > button");
  expect(buttons).toHaveLength(8);
  for (const one of buttons) await act(() => one.click());
  expect(said).toHaveLength(8);
  expect(said[1]).toEqual({ type: "prompt", text: "Go on.", whenBusy: "steer" });
});

test("the words of a rejection stand at the call", async () => {
  await check(...told(story("refused_and_delegated")));
  expect(texts(".why.refused")).toEqual(["You said no: use the project's own check, make lint"]);
});

test("a sub-agent is told by kind and task, and opens to what it did", async () => {
  await check(...told(until("refused_and_delegated", "turn_ended")));
  expect(texts(".sub-agent .verb")).toEqual(["Agent: explore"]);
  expect(texts(".sub-agent .what")).toEqual(["“Find the uses of round_price.”"]);
  expect(texts(".sub-agent .facts")[0]).toMatch(/^\d+ steps?6\.2 s/);
  await act(() => root.querySelector<HTMLElement>(".sub-agent .line")?.click());
  expect(said).toEqual([{ type: "transcript", sessionId: "ses_02" }]);
  expect(texts(".work")).toEqual([]);
  const child = snapshot(until("fix_prices", "turn_ended"));
  const answer = { type: "transcript", sessionId: "ses_02" } as const;
  await check({ ...answer, snapshot: child, problem: "" });
  expect(texts(".work .user")[0]).toContain("Prices are off by a cent");
  expect(texts(".work .group .verb")).toEqual(["Read 2 files, 1 search"]);
  await check({ ...answer, snapshot: null, problem: "It is gone." });
  expect(texts(".sub-agent .problem")).toEqual(["It is gone."]);
  // The session that is shown is still the same.
  expect(known.session.sessionId).toBe("ses_01");
});

test("reads and searches in a row fold to one line, and open to the calls", async () => {
  await check(...told(until("refused_and_delegated", "turn_ended")));
  expect(texts(".group .verb")).toEqual(["Read 2 files, 1 search"]);
  await act(() => root.querySelector<HTMLElement>(".group .line")?.click());
  expect(texts(".group .call .base")).toEqual([
    "prices.py",
    "rounding_of_prices_with_discounts.py",
  ]);
  expect(texts(".group .call .folder")).toEqual(["shop/billing", "shop/billing"]);
});

test("a command is cut while it is closed and whole when it is open", async () => {
  await check(...told(until("refused_and_delegated", "turn_ended")));
  const what = () => root.querySelector(".call.failed .what");
  expect(what()?.className).toBe("what");
  await act(() => root.querySelector<HTMLElement>(".call.failed .line")?.click());
  expect(what()?.className).toBe("what whole");
  expect(texts(".call.failed .text")[0]).toContain('|| echo "cannot compile $one"; done');
});

/** A layout as far as a list needs one: rows of 25 px in a box of 600. */
function laidOut(): void {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (
    this: HTMLElement,
  ) {
    return this.matches(".entry") ? 25 : 600;
  });
}

async function long(count: number): Promise<void> {
  const updates = Array.from({ length: count }, (_, number) => ({
    sessionUpdate: "notice" as const,
    level: "info" as const,
    origin: "test",
    text: `line ${number}`,
    title: "",
    noticeId: "",
  }));
  await check(...told([{ sessionId: "ses_01", seq: 1, updates: [] }]), {
    type: "updates",
    params: { sessionId: "ses_01", seq: 2, updates },
  });
}

test("of a long session only what is in sight is drawn", async () => {
  laidOut();
  await long(2_000);
  const rows = texts(".entry");
  expect(rows.length).toBeLessThan(60);
  expect(rows.at(-1)).toBe("line 1999");
  const height = all<HTMLElement>(".space-rows").reduce(
    (sum, one) => sum + Number.parseInt(one.style.height),
    0,
  );
  expect(height).toBe(25 * (2_000 - rows.length));
});

test("a reader who was in the middle comes back to the same row", async () => {
  laidOut();
  begin(NO_DRAFTS, keeping({ spot: { row: "notice 1000", offset: 5 }, open: {} }));
  await long(2_000);
  const rows = texts(".entry");
  expect(rows).toContain("line 1000");
  expect(rows).not.toContain("line 1999");
  expect(root.querySelector(".to-end")).not.toBeNull();
});

test("everything that can be clicked is a button or a link with a name", async () => {
  for (const name of STORIES) {
    for (const params of [story(name), until(name, "tool_call_output")]) {
      await check(...told(params));
      const nameless = all("button, a").filter(
        (one) => !(one.textContent.trim() || one.getAttribute("aria-label")),
      );
      expect(nameless).toEqual([]);
    }
  }
});

// Reviewing.

function hunk(hunkId: string, line: number, more: Partial<ReviewHunk> = {}): ReviewHunk {
  const size = { endLine: line + 1, addedLines: 2, removedLines: 1 };
  const rest = {
    isChangedSince: false,
    continues: false,
    title: `x = ${hunkId}`,
    old: null,
    new: null,
  };
  return { hunkId, kind: "text", state: "open", line, ...size, ...rest, ...more };
}

function file(path: string, hunks: ReviewHunk[]): ReviewFile {
  const location = { path, uri: `file:///w/${path}`, line: null };
  return { location, turnId: "trn_01", movedFrom: null, hunks };
}

async function reviewed(...files: ReviewFile[]): Promise<void> {
  await check(...told(story("fix_prices")), { type: "review", turns: [{ ...changed, files }] });
  await act(() => root.querySelector<HTMLButtonElement>(".changes .line")?.click());
}

const OF = { sessionId: "ses_01", turnId: "trn_01" };
/** What is seen of each change in the list. */
const rows = () =>
  all(".changes li .change").map((one) =>
    [...one.children]
      .filter((part) => part.className !== "sr")
      .map((part) => part.textContent)
      .join(""),
  );

test("changes are listed by file with a line of each, and decided about", async () => {
  await reviewed(
    file("a.py", [hunk("7.0", 2), hunk("7.1", 8, { state: "kept" }), hunk("9.0", 12)]),
    file("src/new.py", [hunk("10", 0, { kind: "created", title: "n = 1" })]),
    file("b.py", [hunk("11", 0, { kind: "moved", title: "old.py" }), hunk("12", 4)]),
  );
  expect(texts(".changes .line")[0]).toContain("5 changes");
  expect(rows()).toEqual([
    "a.py",
    "3x = 7.0",
    "13x = 9.0",
    "new.pysrcnew",
    "b.py",
    "moved from old.py",
    "5x = 12",
  ]);
  await click("Undo line 3 of a.py");
  await click("Keep a.py");
  await click("Undo moved of b.py");
  await click("Undo All in this turn");
  expect(said).toEqual(
    [
      { ...OF, decision: "undo", path: "a.py", hunkIds: ["7.0"] },
      { ...OF, decision: "keep", path: "a.py" },
      { ...OF, decision: "undo", path: "b.py", hunkIds: ["11"] },
      { ...OF, decision: "undo" },
    ].map((asked) => ({ type: "decide", asked })),
  );
  await check({ type: "review", turns: [{ ...changed, files: [] }] });
  expect(all(".changes")).toEqual([]);
});

test("what only a blank line parts is one change, which is decided about as a whole", async () => {
  await reviewed(
    file("a.py", [hunk("7.0", 2), hunk("7.1", 4, { continues: true }), hunk("9.0", 12)]),
  );
  expect(texts(".changes .line")[0]).toContain("2 changes");
  expect(rows()).toEqual(["a.py", "3x = 7.0", "13x = 9.0"]);
  await click("Undo line 3 of a.py");
  expect(said).toMatchObject([{ asked: { decision: "undo", hunkIds: ["7.0", "7.1"] } }]);
});

test("a file that is no text is one change, with its kind and size", async () => {
  const title = "binary, 12 KB → 14 KB";
  await reviewed(file("src/a.png", [hunk("7", 0, { kind: "opaque", title })]));
  expect(rows()).toEqual([`a.pngsrc${title}`]);
  await click("Undo src/a.png");
  expect(said).toEqual([{ type: "decide", asked: { ...OF, decision: "undo", path: "src/a.png" } }]);
});

test("a change leads to its place, and a file to both its sides", async () => {
  await reviewed(file("a.py", [hunk("7.0", 2)]));
  await click("Go to line 3 of a.py: x = 7.0");
  await click("a.py: show the changes side by side");
  expect(said).toEqual([
    { type: "open", uri: "file:///w/a.py", line: 2 },
    { type: "diff", ...OF, path: "a.py" },
  ]);
});

test("a file that had to be left as it is says why, where it was decided", async () => {
  await reviewed(file("b.py", [hunk("7.0", 2, { isChangedSince: true })]));
  expect(texts(".since")).toEqual(["changed since"]);
  await check({ type: "decided", files: [STAYS] });
  expect(texts(".left")).toEqual(["These lines were changed since. Show both versions"]);
  await click("Show both versions");
  expect(said).toMatchObject([{ type: "compare", path: "b.py", wanted: "theirs" }]);
  await check({ type: "decided", files: [] });
  expect(texts(".left")).toEqual([]);
});

test("how many files a command changed beyond the review is said with its turn", async () => {
  await reviewed(file("a.py", [hunk("7.0", 2)]));
  expect(texts(".left")).toEqual([]);
  const turn = { ...changed, files: [file("a.py", [hunk("7.0", 2)])], leftFiles: 2 };
  await check({ type: "review", turns: [turn] });
  expect(texts(".left")).toEqual([
    "Commands changed 2 more files that cannot be reviewed or undone.",
  ]);
});

test("what was undone of the last turn can be done again", async () => {
  const undone = { state: "undone" } as const;
  // What only a blank line parts is one change here, too.
  const next = { ...undone, continues: true };
  await reviewed(file("a.py", [hunk("7.0", 2, undone), hunk("7.1", 4, next)]));
  expect(all(".changes")).toEqual([]);
  expect(texts(".undone .words")).toEqual(["1 change undone"]);
  await click("Redo what was undone");
  expect(said).toEqual([{ type: "decide", asked: { ...OF, decision: "redo" } }]);
  await check({ type: "review", turns: [{ ...changed, turnId: "trn_00" }] });
  expect(texts(".undone")).toEqual([]);
});

// Restoring.

/** The turn of the story `fix_prices`, whose fourth and fifth calls changed files. */
const changed: ReviewTurn = {
  sessionId: "ses_01",
  turnId: "trn_01",
  prompt: "Prices are off by a cent",
  toolCallIds: ["cal_04", "cal_05"],
  leftFiles: 0,
  files: [],
};
const MOMENT = { turnId: "trn_01", toolCallId: "cal_05" };
const BEFORE_EDIT = "Restore files to before Edit tests/test_prices.py";

function fate(path: string, more: Partial<ReviewFileResult>): ReviewFileResult {
  const location = { path, uri: `file:///w/${path}`, line: null };
  const nothing = { hunks: 0, reason: "", edit: null, conflict: null };
  return { location, turnId: "trn_01", status: "done", ...nothing, ...more };
}

const GOES = [fate("a.py", { edit: "change" }), fate("new.py", { edit: "delete" })];
const STAYS = fate("b.py", {
  status: "conflict",
  reason: "these lines were changed since",
  conflict: { now: "mine", wanted: "theirs" },
});

function came(is: "foreseen" | "done", files: ReviewFileResult[]): ToPanel {
  return { type: "restore", momentId: "cal_05", restore: { is, files } };
}

async function askedToRestore(...more: ToPanel[]): Promise<void> {
  await check(...told(story("fix_prices")), { type: "review", turns: [changed] });
  await click(BEFORE_EDIT);
  await check(...more);
}

const restored = () => texts(".restoring h2, .restoring li, .restoring .buttons button");

test("files can be restored to before each change and each turn that changed some", async () => {
  await check(...told(story("fix_prices")));
  expect(texts(".restore")).toEqual([]);
  await check({ type: "review", turns: [changed] });
  expect(texts(".restore")).toEqual([
    expect.stringMatching(/^Restore files to before the turn “Prices are off by a cent/),
    "Restore files to before Edit shop/prices.py",
    BEFORE_EDIT,
  ]);
});

test("nothing is restored while a turn runs", async () => {
  await check(...told(until("fix_prices", "tool_call_output")), {
    type: "review",
    turns: [changed],
  });
  expect(texts(".restore")).toEqual([]);
});

test("a restore says first what it comes to, and is done after a yes", async () => {
  await askedToRestore(came("foreseen", GOES));
  const asked = { type: "restore", sessionId: "ses_01", moment: MOMENT } as const;
  expect(said).toEqual([{ ...asked, isTrial: true }]);
  expect(restored()).toEqual([
    "Restore 2 files to before this change?",
    "a.py goes back",
    "new.py is deleted",
    "Restore 2 files",
    "Cancel",
  ]);
  expect(document.activeElement?.getAttribute("aria-label")).toBe(restored()[0]);
  await click("Restore 2 files");
  expect(said[1]).toEqual({ ...asked, isTrial: false });
  await check(came("done", GOES));
  expect(restored()).toEqual([
    "2 files restored to before this change",
    "a.py went back",
    "new.py was deleted",
    "Close",
  ]);
  await click("Close");
  expect(restored()).toEqual([]);
});

test("what a user typed over is shown before the rest is restored", async () => {
  await askedToRestore(came("foreseen", [...GOES, STAYS]));
  expect(restored().slice(3)).toEqual([
    "b.py stays as it is: these lines were changed sinceShow both versions",
    "Restore the Other 2",
    "Cancel",
  ]);
  await click("Show both versions");
  expect(said[1]).toEqual({
    type: "compare",
    path: "b.py",
    uri: "file:///w/b.py",
    wanted: "theirs",
  });
  await click("Cancel");
  expect(restored()).toEqual([]);
  expect(document.activeElement?.textContent).toBe(BEFORE_EDIT);
  expect(said).toHaveLength(2);
});

const FRUITLESS: [ToPanel, string[]][] = [
  [came("foreseen", []), ["All files are as they were before this change", "Close"]],
  [
    came("foreseen", [STAYS]),
    [
      "No file can be restored to before this change",
      "b.py stays as it is: these lines were changed sinceShow both versions",
      "Close",
    ],
  ],
  [
    {
      type: "restore",
      momentId: "cal_05",
      restore: { is: "failed", problem: "A turn is running." },
    },
    ["Nothing was restored", "Close"],
  ],
];

test.each(FRUITLESS)("where nothing can be restored nothing is asked", async (answer, expected) => {
  await askedToRestore(answer);
  expect(restored()).toEqual(expected);
});

test("an answer from before is not shown when the user asks again", async () => {
  await askedToRestore(came("done", GOES));
  await click("Close");
  await click(BEFORE_EDIT);
  expect(restored()).toEqual([]);
  await check(came("foreseen", []));
  expect(restored()[0]).toBe("All files are as they were before this change");
});

test("that files were restored is remembered where it was done", async () => {
  const params = story("fix_prices");
  const seq = (params.at(-1)?.seq ?? 0) + 1;
  const base = { reviewId: "rev_9", location: { path: "a.py", uri: null, line: null }, hunks: [] };
  const decided = { ...base, sessionUpdate: "review_update", reason: "", ...MOMENT } as const;
  const sessionId = "ses_01";
  await check(...told(params), {
    type: "updates",
    params: {
      sessionId,
      seq,
      updates: [{ ...decided, decision: "restore", status: "in_progress" }],
    },
  });
  expect(texts(".restored")).toEqual([]);
  const none = { decision: null, turnId: null, toolCallId: null };
  await check({
    type: "updates",
    params: {
      sessionId,
      seq: seq + 1,
      updates: [{ ...decided, ...none, status: "applied" }],
    },
  });
  expect(texts(".restored")).toEqual(["Files were restored to before this change"]);
});

test("a turn that was cut off waits with half an answer for Continue", async () => {
  const half: UpdateParams = {
    sessionId: "",
    seq: 9,
    updates: [
      { sessionUpdate: "turn_started", turnId: "trn_1", anchor: null },
      {
        sessionUpdate: "user_message_chunk",
        content: { type: "text", text: "Explain it." },
        images: null,
        attachments: [],
        origin: "user",
      },
      {
        sessionUpdate: "agent_message",
        stepId: "stp_1",
        content: { type: "text", text: "The first half" },
        thought: "",
        isPartial: true,
      },
      { sessionUpdate: "session_resumed", interruptedToolCalls: ["cal_1"] },
    ],
  };
  const told = snapshot([half]);
  told.session.isInterrupted = true;
  await check(running, { type: "snapshot", snapshot: told });
  expect(texts(".answer").map((one) => one.trim())).toEqual(["The first half"]);
  expect(texts(".cut-off .words")).toEqual([
    "The window closed here; what came of 1 call is unknown",
  ]);
  expect(all(".activity, .stop")).toEqual([]);
  await click("Continue");
  expect(said).toEqual([{ type: "continue" }]);
  const goesOn = { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" } as const;
  await check({ type: "updates", params: { sessionId: "", seq: 10, updates: [goesOn] } });
  expect(all(".cut-off")).toEqual([]);
  expect(texts(".note.line .words")[0]).toContain("Went on after the server had ended");
});

test("while a model refuses, the panel says that it is waited for", async () => {
  const after = (seq: number, updates: UpdateParams["updates"]) =>
    check({ type: "updates", params: { sessionId: "", seq, updates } });
  const doing = () => texts(".activity .words");
  const trouble = {
    sessionUpdate: "notice",
    level: "warning",
    origin: "model",
    noticeId: "model:trn_1",
  } as const;
  const begun: UpdateParams["updates"] = [
    { sessionUpdate: "turn_started", turnId: "trn_1", anchor: null },
    { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" },
  ];
  await check(running, {
    type: "snapshot",
    snapshot: snapshot([{ sessionId: "", seq: 1, updates: begun }]),
  });
  expect(doing()).toEqual(["Thinking"]);
  await after(2, [{ ...trouble, text: "Trying again in 9 s.", title: "Rate limit reached" }]);
  expect(doing()).toEqual(["Waiting for the model"]);
  await after(3, [{ ...trouble, text: "", title: "" }]);
  expect(doing()).toEqual(["Thinking"]);
});

test("a page that comes back has the same calls open and is where the reader was", async () => {
  let state: unknown;
  const page: PageState = { getState: () => state, setState: (kept) => (state = kept) };
  const open = () => all(".call .line").map((one) => one.getAttribute("aria-expanded"));
  const isFollowing = () => all(".transcript")[0]?.getAttribute("data-end");
  const before = new Keeper(page);
  begin(before.drafts, before);
  await check(...told(story("fix_prices")));
  const { sessionId } = known.session;
  await act(() => all<HTMLButtonElement>(".call .line")[1]?.click());
  before.keepDrafts(drafted(before.drafts, sessionId, "Half a thought"));
  before.flush();

  const after = new Keeper(page);
  begin(after.drafts, after);
  await check(...told(story("fix_prices")));
  expect(open().slice(0, 3)).toEqual(["false", "true", "false"]);
  expect(isFollowing()).toBe("true");
  expect(all<HTMLTextAreaElement>(".composer textarea")[0]?.value).toBe("Half a thought");
  after.placeOf(sessionId).spot = { row: "call cal_02", offset: 7 };
  after.flush();

  const last = new Keeper(page);
  begin(last.drafts, last);
  await check(...told(story("fix_prices")));
  expect(isFollowing()).toBe("false");
  expect(last.placeOf("ses_other").spot).toBeNull();
});

/** What a page kept of the long session. */
function keeping(place: KeptPlace): Keeper {
  const kept: Kept = { drafts: NO_DRAFTS, sessionId: "ses_01", place };
  return new Keeper({ getState: () => kept, setState: () => {} });
}
