// @vitest-environment happy-dom
// The panel shows what the state says, and asks for what a person does.
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import type { FromPanel, ToPanel } from "../src/messages";
import { App } from "../src/view/app";
import { watchChords } from "../src/view/chords";
import { type Known, learn, UNKNOWN } from "../src/view/store";
import type {
  ConfigResult,
  QuestionAsked,
  ReviewFile,
  ReviewFileResult,
  ReviewHunk,
  ReviewTurn,
  UpdateParams,
} from "../src/wire";
import { snapshot, story, until } from "./golden";

let root: HTMLElement;
let known: Known;
let kept: string;
let draft: string;
let said: FromPanel[];

beforeEach(() => {
  document.body.innerHTML = '<div id="root"></div>';
  root = document.getElementById("root") as HTMLElement;
  known = UNKNOWN;
  kept = "";
  draft = "";
  said = [];
});

async function draw(): Promise<void> {
  await act(() =>
    render(
      <App
        known={known}
        post={(one) => said.push(one)}
        draft={kept}
        onDraft={(text) => {
          draft = text;
        }}
      />,
      root,
    ),
  );
}

/** Show what the extension says, one message after the other. */
async function check(...messages: ToPanel[]): Promise<void> {
  for (const one of messages) {
    known = learn(known, one);
    await draw();
  }
}

const running: ToPanel = { type: "server", server: { is: "running" } };

function told(params: UpdateParams[]): ToPanel[] {
  const start = snapshot(params.slice(0, 1));
  return [
    running,
    { type: "snapshot", snapshot: start },
    ...params.slice(1).map((one) => ({ type: "updates", params: one }) as const),
  ];
}

function all<T extends Element = Element>(selector: string): T[] {
  return [...root.querySelectorAll<T>(selector)];
}

function texts(selector: string): string[] {
  return all(selector).map((one) => one.textContent);
}

async function click(name: string): Promise<void> {
  const button = all("button").find(
    (one) => (one.getAttribute("aria-label") ?? one.textContent).trim() === name,
  );
  if (!button) throw new Error(`no button says ${name}; there are ${texts("button").join(", ")}`);
  await act(() => (button as HTMLButtonElement).click());
}

async function type(field: Element | null, words: string): Promise<void> {
  const area = field as HTMLTextAreaElement;
  await act(() => {
    area.value = words;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function press(target: Element | null, key: string, more: KeyboardEventInit = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  await act(() => void target?.dispatchEvent(event));
}

const composer = () => root.querySelector(".composer textarea");

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
    "Read",
    "Grep",
    "Read",
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
  expect(texts(".usage")).toEqual(["$0.0981"]);
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

test("an approval shows the exact payload and can be allowed once", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  expect(texts(".approval h2")).toEqual(["Edit shop/prices.py"]);
  const request = known.session.approvals[0];
  expect(`${texts(".payload .row").join("\n")}\n`.replaceAll(/^ $/gm, "")).toBe(
    request?.payload.replaceAll(/^ $/gm, ""),
  );
  expect(all(".payload .added")).toHaveLength(6);
  await click("Allow once");
  expect(said).toEqual([
    { type: "approve", approvalId: "apr_01", choice: "allow_once", note: "", argumentsJson: null },
  ]);
});

test("an answer that goes on says in words what it covers", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  await click("Allow for this session: every edit of a text file");
  expect(said).toMatchObject([{ choice: "allow_session" }]);
});

test("an approval is rejected with the words that were typed", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  await type(root.querySelector(".rejection input"), "use Fraction");
  await click("Reject");
  expect(said).toMatchObject([{ choice: "reject_once", note: "use Fraction" }]);
});

test("the arguments of a call can be changed before it runs", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  await click("Change the arguments");
  await type(root.querySelector(".amend"), "{");
  expect(all(".amend")[0]?.getAttribute("aria-invalid")).toBe("true");
  await type(root.querySelector(".amend"), '{"command": "pytest"}');
  await click("Run with these");
  expect(said).toMatchObject([{ choice: "amend", argumentsJson: '{"command": "pytest"}' }]);
});

test("an answer is given once, and again only if it did not count", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  await click("Allow once");
  await click("Allow once");
  expect(said).toHaveLength(1);
  await check({ type: "unsettled", id: "apr_01", problem: "The server does not run." });
  expect(texts(".approval .problem")).toEqual(["The server does not run."]);
  await click("Allow once");
  expect(said).toHaveLength(2);
});

test("an approval that somebody else settled goes away", async () => {
  await check(...told(until("fix_prices", "permission_resolved")));
  expect(all(".approval")).toEqual([]);
});

test("what a payload hides is spelled out", async () => {
  const params = until("fix_prices", "permission_request", 2);
  for (const update of params.at(-1)?.updates ?? []) {
    if (update.sessionUpdate === "permission_request") update.payload = "rm -rf /\u202e tmp\u0007";
  }
  await check(...told(params));
  expect(texts(".payload")).toEqual(["rm -rf /\\u{202e} tmp\\u{7}"]);
});

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
    { title: "Edit a.py", kind: "edit", payload: "@@ -1 +1 @@\n-*x*\n+# y\n", isAskedAgain: false },
    { title: "Run: make", kind: "execute", payload: "make\n(in /shop)", isAskedAgain: false },
    { title: "Delete b.py", kind: "delete", payload: "-b", isAskedAgain: true },
  ],
};

test("a plan shows each step as an approval shows a call, not as prose", async () => {
  await check(...told([{ sessionId: "ses_01", seq: 1, updates: [PLAN] }]));
  expect(texts(".steps label")).toEqual(["1. Edit a.py", "2. Run: make", "3. Delete b.py"]);
  expect(texts(".steps .payload .row")).toEqual([
    ..."@@ -1 +1 @@|-*x*|+# y|make|(in /shop)|-b".split("|"),
  ]);
  expect(all(".question em")).toEqual([]);
  expect(texts(".steps .dim")).toHaveLength(1);
});

test("each button of a plan says what it does, and the chosen steps run", async () => {
  const plan = told([{ sessionId: "ses_01", seq: 1, updates: [PLAN] }]);
  for (const [name, text] of [
    ["Run 3 steps", "all"],
    ["Ask before each step", "one by one"],
    ["Run nothing", "none"],
  ] as const) {
    said = [];
    render(null, root);
    known = UNKNOWN;
    await check(...plan);
    await click(name);
    expect(said).toEqual([{ type: "answer", questionId: "qst_9", text }]);
  }
  said = [];
  render(null, root);
  known = UNKNOWN;
  await check(...plan);
  const boxes = all<HTMLInputElement>(".steps input");
  await act(() => boxes[1]?.click());
  await click("Run 2 of 3 steps");
  expect(said).toEqual([{ type: "answer", questionId: "qst_9", text: "1, 3" }]);
});

test("Enter sends, Shift+Enter does not", async () => {
  await check(...told([]), { type: "snapshot", snapshot: snapshot([]) });
  await type(composer(), "fix it");
  await press(composer(), "Enter", { shiftKey: true });
  expect(said).toEqual([]);
  await press(composer(), "Enter");
  expect(said).toEqual([{ type: "prompt", text: "fix it", whenBusy: "steer" }]);
  expect(draft).toBe("");
});

test("what was typed just before Enter is sent with it", async () => {
  await check(...told([]), { type: "snapshot", snapshot: snapshot([]) });
  const area = composer() as HTMLTextAreaElement;
  await act(() => {
    area.value = "fix it!";
    area.dispatchEvent(new Event("input", { bubbles: true }));
    const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
    area.dispatchEvent(enter);
  });
  expect(said).toEqual([{ type: "prompt", text: "fix it!", whenBusy: "steer" }]);
  expect(area.value).toBe("");
});

test("a draft survives a reload of the panel", async () => {
  kept = "half a thou";
  await check(...told([]), { type: "snapshot", snapshot: snapshot([]) });
  expect((composer() as HTMLTextAreaElement).value).toBe("half a thou");
  await type(composer(), "half a thought");
  expect(draft).toBe("half a thought");
});

test("Alt+Enter says it after the turn", async () => {
  await check(...told(until("fix_prices", "tool_call_output")));
  await type(composer(), "then commit");
  await press(composer(), "Enter", { altKey: true });
  expect(said).toEqual([{ type: "prompt", text: "then commit", whenBusy: "follow_up" }]);
});

test("an Enter that ends a composed character does not send", async () => {
  await check(...told([]), { type: "snapshot", snapshot: snapshot([]) });
  await type(composer(), "直");
  await press(composer(), "Enter", { isComposing: true });
  expect(said).toEqual([]);
});

test("a prompt that was not taken comes back with the reason", async () => {
  await check({ type: "unsent", text: "fix it", problem: "The agent server does not run." });
  expect(draft).toBe("fix it");
  expect(texts(".composer .problem")).toEqual(["Not sent: The agent server does not run."]);
});

const stopped = (text: string): ToPanel => ({ type: "unsent", text, problem: "Stopped." });
const BACK: Record<string, { half: string; come: ToPanel[]; draft: string }> = {
  "one stands before what is half-written": {
    half: "half a thou",
    come: [stopped("first\nof all")],
    draft: "first\nof all\n\nhalf a thou",
  },
  "several come back in order": {
    half: "half",
    come: [stopped("one"), stopped("two"), { type: "unsent", text: "three", problem: "Gone." }],
    draft: "one\n\ntwo\n\nthree\n\nhalf",
  },
  "nothing is added to an empty field": { half: "", come: [stopped("one")], draft: "one" },
  "the same words twice are two prompts": {
    half: "",
    come: [stopped("on"), stopped("on")],
    draft: "on\n\non",
  },
  "a selected place comes before them": {
    half: "half",
    come: [stopped("one"), { type: "compose", text: "In a.py:3: " }],
    draft: "In a.py:3: one\n\nhalf",
  },
};

test.each(Object.entries(BACK))(
  "of what comes back %s",
  async (_, { half, come, draft: whole }) => {
    await check(...told(until("fix_prices", "tool_call_output")));
    const area = composer() as HTMLTextAreaElement;
    await act(() => {
      // Typed a moment ago and not drawn yet, and all of it comes within one frame.
      area.value = half;
      area.dispatchEvent(new Event("input", { bubbles: true }));
      for (const one of come) known = learn(known, one);
      return draw();
    });
    expect([area.value, draft]).toEqual([whole, whole]);
    // Drawn again, nothing comes a second time.
    await type(area, "else");
    await draw();
    expect(area.value).toBe("else");
  },
);

test("the cursor stays in what is half-written when something comes back", async () => {
  await check(...told(until("fix_prices", "tool_call_output")));
  const area = composer() as HTMLTextAreaElement;
  await type(area, "half");
  area.setSelectionRange(2, 2);
  await check(stopped("one"));
  expect(area.value.slice(0, area.selectionStart)).toBe("one\n\nha");
});

test("Escape stops a turn from the prompt and the stop button, and from nowhere else", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  const places = all("[tabindex], button, input, .panel, .transcript").filter(
    (one) => !one.matches(".stop"),
  );
  expect(places.length).toBeGreaterThan(5);
  for (const one of places) await press(one, "Escape");
  expect(said).toEqual([]);
  await press(composer(), "Escape", { isComposing: true });
  expect(said).toEqual([]);
  await press(root.querySelector(".stop"), "Escape");
  expect(said).toEqual([{ type: "stop" }]);
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
  for (const key of ["n", "Enter", "Escape", "k"]) {
    isTyped("k", { ctrlKey: true });
    expect(isTyped(key)).toBe(false);
    expect(isTyped("y")).toBe(true);
  }
});

test("the second click of a double click answers nothing", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  const button = all("button").find((one) => one.textContent === "Allow once");
  button?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
  expect(said).toEqual([]);
});

test("a command is wrapped and its line ends are marked, a diff is not", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  expect(all(".payload.command")).toHaveLength(1);
  await check(...told(until("fix_prices", "permission_request")));
  expect(all(".payload.command")).toHaveLength(0);
});

test("Escape and the stop button stop a running turn, and nothing else", async () => {
  await check(...told(until("fix_prices", "tool_call_output")));
  await press(composer(), "Escape");
  await click("Stop");
  expect(said).toEqual([{ type: "stop" }, { type: "stop" }]);
  said = [];
  await check(...told(story("fix_prices")));
  await press(composer(), "Escape");
  expect(said).toEqual([]);
});

test("what waits to be said is shown", async () => {
  await check(...told(until("fix_prices", "prompt_queued")));
  expect(texts(".queue li")).toEqual(["with the next stepAlso mention it in the changelog."]);
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
    model: "",
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
  const line = root.querySelector(".call .line") as HTMLElement;
  expect(line.getAttribute("aria-expanded")).toBe("false");
  await act(() => line.click());
  expect(line.getAttribute("aria-expanded")).toBe("true");
  const [first, second] = texts(".call .text");
  expect(first).toBe("shop/prices.py");
  expect(second).toContain("def discounted");
});

test("the plan says how far it is and opens to the whole", async () => {
  await check(...told(until("fix_prices", "permission_request", 2)));
  expect(texts(".plan .verb")).toEqual(["Plan 2/3"]);
  await act(() => (root.querySelector(".plan .line") as HTMLElement).click());
  expect(texts(".plan li")).toEqual([
    "Use Decimal in prices.pydone",
    "Cover half percentages in the testsdone",
    "Run the testsin progress",
  ]);
});

test("a screen reader is told what a sighted person sees happen", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  expect(texts('[role="alert"]')).toEqual(["Approval needed: Edit shop/prices.py"]);
  await check(...told(story("fix_prices")).slice(2));
  expect(texts('[role="status"]').join()).toContain("The agent has ended: success");
});

test("everything that can be clicked is a button or a link with a name", async () => {
  for (const name of ["fix_prices", "stopped_and_failed"] as const) {
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
  const rest = { isChangedSince: false, title: `x = ${hunkId}`, old: null, new: null };
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
const rows = () => texts(".changes li .change").map((one) => one.trim());

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
  await click("Undo the turn");
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
  await click("Show the changes of a.py side by side");
  expect(said).toEqual([
    { type: "open", uri: "file:///w/a.py", line: 2 },
    { type: "diff", ...OF, path: "a.py" },
  ]);
});

test("a file that had to be left as it is says why, where it was decided", async () => {
  await reviewed(file("b.py", [hunk("7.0", 2, { isChangedSince: true })]));
  expect(texts(".since")).toEqual(["changed since"]);
  await check({ type: "decided", files: [STAYS] });
  expect(texts(".left")).toEqual([
    "Left as it is: these lines were changed since. Show both versions",
  ]);
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
  await reviewed(file("a.py", [hunk("7.0", 2, { state: "undone" })]));
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
    "Restore",
    "Cancel",
  ]);
  expect(document.activeElement?.getAttribute("aria-label")).toBe(restored()[0]);
  await click("Restore");
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

test("what a person typed over is shown before the rest is restored", async () => {
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

test("an answer from before is not shown when the person asks again", async () => {
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
