// @vitest-environment happy-dom
// Nothing that was typed gets lost, and a turn is stopped only by who means it.
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { ToPanel } from "../src/messages";
import { restored } from "../src/view/drafts";
import type { Update } from "../src/wire";
import { all, begin, check, click, draw, forget, hear, kept, known } from "./drawn";
import { press, root, said, texts, told, type } from "./drawn";
import { snapshot, story, until } from "./golden";

const composer = () => root.querySelector<HTMLTextAreaElement>(".box textarea");
const typed = () => composer()?.value;
const rows = () => all<HTMLTextAreaElement>(".unsent textarea").map((one) => one.value);
const row = (number: number) => all(".unsent textarea")[number - 1] ?? null;
const working = () => told(until("fix_prices", "tool_call_output"));
const empty: ToPanel = { type: "snapshot", snapshot: snapshot([]) };
const session = (sessionId: string): ToPanel => {
  const whole = snapshot(story("fix_prices"));
  return { type: "snapshot", snapshot: { ...whole, session: { ...whole.session, sessionId } } };
};
const unused = (sessionId: string): ToPanel => {
  const whole = snapshot([]);
  return { type: "snapshot", snapshot: { ...whole, session: { ...whole.session, sessionId } } };
};
const unsent = (text: string, sessionId: string | null = "ses_01"): ToPanel => ({
  type: "unsent",
  sessionId,
  text,
  problem: "Stopped before it was read.",
});
const prompt = (text: string, whenBusy = "steer") => ({ type: "prompt", text, whenBusy });

test("Enter sends, Shift+Enter does not", async () => {
  await check(...told([]), empty);
  await type(composer(), "fix it");
  await press(composer(), "Enter", { shiftKey: true });
  expect(said).toEqual([]);
  await press(composer(), "Enter");
  expect(said).toEqual([prompt("fix it")]);
  expect(kept().prompts).toEqual({});
});

test("what was typed just before Enter is sent with it", async () => {
  await check(...told([]), empty);
  const area = composer() as HTMLTextAreaElement;
  await act(() => {
    area.value = "fix it!";
    area.dispatchEvent(new Event("input", { bubbles: true }));
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
  expect(said).toEqual([prompt("fix it!")]);
  expect(area.value).toBe("");
});

test("Alt+Enter says it after the turn", async () => {
  await check(...working());
  await type(composer(), "then commit");
  await press(composer(), "Enter", { altKey: true });
  expect(said).toEqual([prompt("then commit", "follow_up")]);
});

test("an Enter that ends a composed character does not send", async () => {
  await check(...told([]), empty);
  await type(composer(), "直");
  await press(composer(), "Enter", { isComposing: true });
  expect(said).toEqual([]);
});

test("what waits to be said is shown", async () => {
  await check(...told(until("fix_prices", "prompt_queued")));
  expect(texts(".queue li")).toEqual(["with the next stepAlso mention it in the changelog."]);
});

// While something waits for the user.

const asking = () => told(until("stopped_and_failed", "question"));
const placeholder = () => composer()?.placeholder;
const answer = (text: string) => ({ type: "answer", questionId: "qst_1", text });
const resolved = (text: string): ToPanel => ({
  type: "updates",
  params: {
    sessionId: known.session.sessionId,
    seq: known.session.seq + 1,
    updates: [{ sessionUpdate: "question_resolved", questionId: "qst_1", text, by: "user" }],
  },
});

test("words typed while a question waits answer it", async () => {
  await check(...asking());
  expect(placeholder()).toBe("Answer, or Alt+Enter: later");
  await type(composer(), "only the tests ");
  expect(root.querySelector<HTMLElement>(".send")?.title).toBe("Answer (Enter)");
  await press(composer(), "Enter");
  expect([said, typed()]).toEqual([[answer("only the tests")], ""]);
  await check(resolved("only the tests"));
  expect([rows(), kept().answers]).toEqual([[], {}]);
});

test("Alt+Enter leaves a question alone", async () => {
  await check(...asking());
  await type(composer(), "then commit");
  await press(composer(), "Enter", { altKey: true });
  expect(said).toEqual([prompt("then commit", "follow_up")]);
});

test("words begun before a question came do not answer it", async () => {
  const params = until("stopped_and_failed", "question");
  await check(...told(params.slice(0, -1)));
  await type(composer(), "also the cha");
  await check(...told(params).slice(-1));
  await type(composer(), "also the changelog");
  await press(composer(), "Enter");
  expect(said).toEqual([prompt("also the changelog")]);
  await type(composer(), "both");
  await press(composer(), "Enter");
  expect(said.slice(1)).toEqual([answer("both")]);
});

test("an answer that did not arrive stands in the card, and one before it is not lost", async () => {
  await check(...asking());
  const field = () => root.querySelector<HTMLInputElement>(".question input");
  await type(field(), "half");
  await type(composer(), "both");
  await press(composer(), "Enter");
  await check({ type: "unsettled", id: "qst_1", problem: "The server does not run." });
  expect([field()?.value, rows()]).toEqual(["both", ["half"]]);
  await check(resolved("formatting"));
  expect(rows()).toEqual(["half", "both"]);
});

test("while an approval waits the prompt says so, and its words decide nothing", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  expect(placeholder()).toBe("Answer above first; words here wait");
  await type(composer(), "no");
  await press(composer(), "Enter");
  expect(said).toEqual([prompt("no")]);
});

test("of two questions the prompt answers none", async () => {
  await check(...asking());
  const [one] = known.session.questions;
  const updates = [{ ...one, sessionUpdate: "question" as const, questionId: "qst_2" }];
  const { sessionId, seq } = known.session;
  await check({
    type: "updates",
    params: { sessionId, seq: seq + 1, updates: updates as Update[] },
  });
  expect(placeholder()).toBe("Answer above first; words here wait");
  await type(composer(), "both");
  await press(composer(), "Enter");
  expect(said).toEqual([prompt("both")]);
});

// Drafts.

test("a draft survives a reload of the panel, also one that an older version kept", async () => {
  begin(restored({ draft: "half a thou" }));
  await check(...told([]), empty);
  expect(typed()).toBe("half a thou");
  await type(composer(), "half a thought");
  begin(restored(kept()));
  await check(...told([]), empty);
  expect(typed()).toBe("half a thought");
});

test.each([undefined, null, 7, "x", {}, { draft: "" }])(
  "a page that kept nothing of use begins without a draft: %j",
  async (state) => {
    begin(restored(state));
    await check(...told([]), empty);
    expect([typed(), rows()]).toEqual(["", []]);
  },
);

test("each session has its own draft", async () => {
  await check(session("ses_a"));
  await type(composer(), "for a");
  await check(session("ses_b"));
  expect(typed()).toBe("");
  await type(composer(), "for b");
  await check(session("ses_a"));
  expect(typed()).toBe("for a");
  begin(restored(kept()));
  await draw();
  expect(typed()).toBe("for a");
  await check(session("ses_b"));
  expect(typed()).toBe("for b");
});

test("a draft in a session that nothing was said in is there in the next new one", async () => {
  await check(unused("ses_old"));
  await type(composer(), "first words");
  await check(session("ses_a"));
  expect(typed()).toBe("");
  await check(unused("ses_new"));
  expect(typed()).toBe("first words");
});

test("what is typed while the first prompt is on its way stays in the field", async () => {
  const params = story("fix_prices");
  await check(...told(params.slice(0, 1)));
  await type(composer(), "and then");
  await check(...told(params).slice(2, 12));
  expect(known.session.turn).not.toBeNull();
  expect([typed(), kept().prompts]).toEqual(["and then", { ses_01: "and then" }]);
});

test("what is typed before the session is known is for the one that comes", async () => {
  begin(restored({ ...kept(), shown: "ses_a", prompts: { ses_a: "old", ses_b: "mine" } }));
  await draw();
  await type(composer(), "old and new");
  await check(session("ses_b"));
  expect(typed()).toBe("old and new\n\nmine");
  expect(kept().prompts).toEqual({ ses_b: "old and new\n\nmine" });
});

test("a selected place comes before the draft, and the cursor stays", async () => {
  await check(...working());
  await type(composer(), "half");
  composer()?.setSelectionRange(2, 2);
  await check({ type: "compose", text: "In a.py:3: " });
  const area = composer() as HTMLTextAreaElement;
  expect([area.value, area.value.slice(0, area.selectionStart)]).toEqual([
    "In a.py:3: half",
    "In a.py:3: ha",
  ]);
  expect(kept().prompts).toEqual({ ses_01: "In a.py:3: half" });
});

// Prompts that were not sent.

test("what a stop returns is a list above a draft that stays as it is", async () => {
  await check(...working());
  const area = composer() as HTMLTextAreaElement;
  await act(() => {
    // Typed a moment ago and not drawn yet, and all of it comes within one frame.
    area.value = "half";
    area.dispatchEvent(new Event("input", { bubbles: true }));
    hear(unsent("first\nof all"), unsent("two"), unsent("two"));
    return draw();
  });
  expect([rows(), area.value]).toEqual([["first\nof all", "two", "two"], "half"]);
  expect(texts(".unsent .why-unsent")[0]).toBe("Stopped before it was read.");
  expect(texts('.dock > [role="status"]')[0]).toBe("3 prompts not sent");
});

test("a prompt that was not taken is there with the reason", async () => {
  await check({ type: "unsent", sessionId: null, text: "fix it", problem: "It does not run." });
  expect([rows(), texts(".unsent .why-unsent")]).toEqual([["fix it"], ["It does not run."]]);
  // It was for no session, so it is with every one.
  await check(session("ses_a"));
  expect(rows()).toEqual(["fix it"]);
});

test("each is changed, moved, sent and dropped", async () => {
  await check(...working(), unsent("one"), unsent("two"), unsent("three"));
  await type(row(2), "two and a half");
  await click("Move prompt 2 up");
  expect(rows()).toEqual(["two and a half", "one", "three"]);
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Move prompt 1 up");
  await click("Move prompt 1 up");
  await click("Move prompt 3 down");
  await click("Move prompt 1 down");
  await press(row(3), "ArrowUp", { altKey: true });
  expect(rows()).toEqual(["one", "three", "two and a half"]);
  expect(document.activeElement).toBe(row(2));
  await click("Drop prompt 2");
  await click("Send prompt 2");
  expect(said).toEqual([{ ...prompt("two and a half"), here: "selection" }]);
  expect(document.activeElement).toBe(composer());
  forget();
  await press(row(1), "Enter", { shiftKey: true });
  await press(row(1), "Enter", { isComposing: true });
  expect(said).toEqual([]);
  await press(row(1), "Enter", { altKey: true });
  expect([said, rows()]).toEqual([[{ ...prompt("one", "follow_up"), here: "selection" }], []]);
});

test("one without words is not sent and does not go", async () => {
  await check(...working(), unsent("one"));
  await type(row(1), "  ");
  await press(row(1), "Enter");
  expect([said, rows()]).toEqual([[], ["  "]]);
});

test("they survive a reload of the panel as they were left", async () => {
  await check(...working(), unsent("one"), unsent("two"));
  await click("Move prompt 2 up");
  await type(row(1), "two!");
  begin(restored(kept()));
  await check(...working());
  expect(rows()).toEqual(["two!", "one"]);
  await check(unsent("three"));
  await click("Drop prompt 1");
  expect(rows()).toEqual(["one", "three"]);
});

test("they stay with their session", async () => {
  await check(session("ses_a"), unsent("for a", "ses_a"), unsent("for b", "ses_b"));
  expect(rows()).toEqual(["for a"]);
  await check(session("ses_b"));
  expect(rows()).toEqual(["for b"]);
  await click("Drop prompt 1");
  await check(session("ses_a"));
  expect(rows()).toEqual(["for a"]);
});

test("the first prompt of a new session that is not taken is for the next one, too", async () => {
  await check(unused("ses_old"), unsent("fix it", "ses_old"), unused("ses_new"));
  expect(rows()).toEqual(["fix it"]);
});

// Stopping.

const hint = () => texts(".hint").join();
const stop = () => root.querySelector(".stop");

test("Escape stops at its second press, from the empty prompt and from the stop button", async () => {
  for (const place of [composer, stop]) {
    begin();
    await check(...working());
    await press(place(), "Escape");
    expect([said, hint()]).toEqual([[], "Esc again stops the agent"]);
    await press(place(), "Escape", { repeat: true });
    expect(said).toEqual([]);
    await press(place(), "Escape");
    expect([said, hint()]).toEqual([[{ type: "stop" }], ""]);
  }
});

test("two presses within one frame are two", async () => {
  await check(...working());
  await act(() => {
    for (let times = 0; times < 2; times += 1) {
      composer()?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    }
  });
  expect(said).toEqual([{ type: "stop" }]);
});

test("whatever comes between makes the next press a first one", async () => {
  const between: Record<string, () => Promise<void>> = {
    "another key": () => press(composer(), "Shift"),
    typing: async () => {
      await press(composer(), "x");
      await type(composer(), "x");
      await type(composer(), "");
    },
    "leaving the prompt": async () => {
      await act(
        () => void composer()?.dispatchEvent(new FocusEvent("focusout", { bubbles: true })),
      );
    },
  };
  for (const [name, does] of Object.entries(between)) {
    begin();
    await check(...working());
    await press(composer(), "Escape");
    await does();
    expect([name, hint()]).toEqual([name, ""]);
    await press(composer(), "Escape");
    expect([name, said]).toEqual([name, []]);
  }
});

test("Escape in a prompt with words stops nothing and takes nothing", async () => {
  await check(...working());
  await type(composer(), "half");
  for (const place of [composer, stop]) {
    for (let times = 0; times < 3; times += 1) await press(place(), "Escape");
  }
  expect([said, typed(), hint()]).toEqual([
    [],
    "half",
    "Esc stops the agent only from an empty prompt",
  ]);
});

test("Escape stops nothing from anywhere else, nor while a character is composed", async () => {
  await check(...told(until("fix_prices", "permission_request")), unsent("one"));
  const places = all("[tabindex], button, input, .unsent textarea, .panel, .transcript").filter(
    (one) => !one.matches(".stop"),
  );
  expect(places.length).toBeGreaterThan(10);
  for (const one of [...places, ...places]) await press(one, "Escape");
  for (let times = 0; times < 2; times += 1) {
    await press(composer(), "Escape", { isComposing: true });
  }
  expect([said, rows()]).toEqual([[], ["one"]]);
});

test("Escape does nothing when no turn runs, or it is stopping already", async () => {
  await check(...told(story("fix_prices")));
  for (let times = 0; times < 2; times += 1) await press(composer(), "Escape");
  expect([said, hint()]).toEqual([[], ""]);
  begin();
  const stopped = until("stopped_and_failed", "cancel_requested");
  await check(...told(stopped));
  expect(known.session.turn?.isStopping).toBe(true);
  for (let times = 0; times < 2; times += 1) await press(composer(), "Escape");
  expect([said, hint()]).toEqual([[], ""]);
});

test("the stop button stops at once, and the cursor goes to the prompt", async () => {
  await check(...working());
  await click("Stop");
  expect(said).toEqual([{ type: "stop" }]);
  expect(document.activeElement).toBe(composer());
});

test("the end of a turn is not what the second press stops", async () => {
  await check(...working());
  await press(composer(), "Escape");
  await check(...told(story("fix_prices")).slice(2));
  expect(hint()).toBe("");
});
