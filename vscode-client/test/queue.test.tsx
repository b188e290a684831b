// @vitest-environment happy-dom
// Prompts that wait in the server's queue: changed, moved, sent now and dropped from the panel.
import { expect, test } from "vitest";
import type { Update } from "../src/wire";
import { all, begin, check, click, kept, press, root, running, said, texts, type } from "./drawn";
import { snapshot } from "./golden";

const queued = (promptId: string, text: string, whenBusy: "steer" | "follow_up"): Update => ({
  sessionUpdate: "prompt_queued",
  content: { type: "text", text },
  images: null,
  attachments: null,
  whenBusy,
  promptId,
});

const changed = (promptId: string, more: object): Update => ({
  sessionUpdate: "prompt_changed",
  promptId,
  text: null,
  whenBusy: null,
  before: null,
  isDropped: false,
  ...more,
});

const begun: Update[] = [
  { sessionUpdate: "turn_started", turnId: "trn_1", anchor: null },
  queued("pmt_1", "One", "steer"),
  queued("pmt_2", "Two", "follow_up"),
  queued("pmt_3", "Three", "follow_up"),
];

const tell = (...updates: Update[]) =>
  check(running, {
    type: "snapshot",
    snapshot: snapshot([{ sessionId: "ses_1", seq: 1, updates }]),
  });
const show = (...more: Update[]) => tell(...begun, ...more);
const rows = () => texts(".queue .what");

test("each prompt that waits can be moved, sent now and dropped", async () => {
  await show();
  expect(rows()).toEqual(["One", "Two", "Three"]);
  await click("Move waiting prompt 3 up");
  await click("Move waiting prompt 1 down");
  await click("Move waiting prompt 2 down");
  await click("Send waiting prompt 2 with the next step");
  await click("Drop waiting prompt 3");
  expect(said).toEqual([
    { type: "changeQueued", change: { promptId: "pmt_3", before: "pmt_2" } },
    { type: "changeQueued", change: { promptId: "pmt_1", before: "pmt_3" } },
    { type: "changeQueued", change: { promptId: "pmt_2", before: "" } },
    { type: "changeQueued", change: { promptId: "pmt_2", whenBusy: "steer" } },
    { type: "changeQueued", change: { promptId: "pmt_3", isDropped: true } },
  ]);
  expect(all('[aria-label="Send waiting prompt 1 with the next step"]')).toHaveLength(0);
});

test("what is at an end of the queue is not moved beyond it", async () => {
  await show();
  await click("Move waiting prompt 1 up");
  await click("Move waiting prompt 3 down");
  expect(said).toEqual([]);
});

test("its words are changed in place: Enter saves, Escape leaves them", async () => {
  await show();
  await click("Edit waiting prompt 2");
  const area = () => root.querySelector<HTMLTextAreaElement>(".queue textarea");
  expect(document.activeElement).toBe(area());
  await type(area(), "Two, please");
  await press(area(), "Escape");
  expect(said).toEqual([]);
  expect(rows()).toEqual(["One", "Two", "Three"]);
  await click("Edit waiting prompt 2");
  await type(area(), "Two, please");
  await press(area(), "Enter");
  expect(said).toEqual([
    { type: "changeQueued", change: { promptId: "pmt_2", text: "Two, please" } },
  ]);
});

test("words that were being changed are not lost when the prompt is sent, or the panel hidden", async () => {
  await show();
  await click("Edit waiting prompt 2");
  const area = () => root.querySelector<HTMLTextAreaElement>(".queue textarea");
  await type(area(), "Two, and more");
  begin(kept());
  await show();
  expect(area()?.value).toBe("Two, and more");
  await show(changed("pmt_2", { isDropped: true }));
  expect(area()).toBeNull();
  expect(kept().unsent.map((one) => [one.text, one.problem])).toEqual([
    ["Two, and more", "It was taken back before you changed it."],
  ]);
});

test("the queue is shown as the server says that it is now", async () => {
  await show(
    changed("pmt_3", { before: "pmt_1" }),
    changed("pmt_1", { text: "First", whenBusy: "follow_up" }),
    changed("pmt_2", { isDropped: true }),
    changed("pmt_9", { isDropped: true }),
  );
  expect(rows()).toEqual(["Three", "First"]);
  await show(changed("pmt_1", { before: "" }));
  expect(rows()).toEqual(["Two", "Three", "One"]);
});

test("a prompt of an older server is shown without buttons", async () => {
  await tell(...begun.slice(0, 1), queued("", "One", "steer"));
  expect(rows()).toEqual(["One"]);
  expect(all(".queue button")).toHaveLength(0);
});
