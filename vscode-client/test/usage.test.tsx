// @vitest-environment happy-dom
// What a turn took stands in its last line; what fills the model's window is told on demand.
import { expect, test } from "vitest";
import type { ToPanel } from "../src/messages";
import type { ContextResult, TurnTaken } from "../src/wire";
import { all, check, click, draw, forget, press, root, said, texts, told } from "./drawn";
import { folded, itemsOf, story } from "./golden";

const end = () => {
  const [item] = itemsOf(folded(story("fix_prices")), "end");
  if (!item) throw new Error("no end");
  return item;
};
const taken = (more: Partial<TurnTaken>): ToPanel => ({
  type: "taken",
  turns: [
    {
      turnId: end().turnId,
      durationMs: 41_000,
      steps: 5,
      cost: { amount: 0.13, currency: "USD" },
      tokens: {
        inputTokens: 21_000,
        outputTokens: 1_000,
        cacheReadTokens: 12_000,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
      },
      ...more,
    },
  ],
});

test("a turn's last line tells steps, time, tokens and money, once they are known", async () => {
  await check(...told(story("fix_prices")));
  expect(texts(".end .facts")).toEqual([expect.stringMatching(/^\d+ steps · \$/)]);
  await check(taken({}));
  expect(texts(".end .facts")).toEqual(["5 steps · 41 s · 22k · $0.13"]);
  expect(root.querySelector(".end .facts")?.getAttribute("title")).toBe(
    "Tokens: 21k in (12k from cache), 1k out",
  );
  await check(taken({ cost: { amount: 0, currency: "USD" }, steps: 1, durationMs: 900 }));
  expect(texts(".end .facts")).toEqual(["1 step · 900 ms · 22k"]);
  await check(taken({ turnId: "trn_other" }));
  expect(texts(".end .facts")).toEqual([expect.stringMatching(/^\d+ steps · \$/)]);
});

const context: ContextResult = {
  usedTokens: 20_000,
  windowTokens: 200_000,
  parts: [
    { kind: "system", tokens: 2_000 },
    { kind: "rules", tokens: 500 },
    { kind: "tools", tokens: 4_500 },
    { kind: "files", tokens: 8_000 },
    { kind: "results", tokens: 1_000 },
    { kind: "history", tokens: 4_000 },
  ],
};

const usage = () => root.querySelector<HTMLButtonElement>("button.usage");

test("what fills the window opens at the percentage, and Escape leaves it", async () => {
  await check(...told(story("fix_prices")));
  expect(usage()?.getAttribute("aria-label")).toMatch(/^\d+ % \$0\.0981: what fills the window$/);
  usage()?.click();
  await draw();
  expect(said).toEqual([{ type: "context" }]);
  expect(texts(".popover p")[0]).toBe("Counting");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("What fills the window");
  await check({ type: "context", context, problem: "" });
  expect(texts(".popover tr")).toEqual([
    "System2k",
    "Rules500",
    "Tools4.5k",
    "Files read8k",
    "Results of calls1k",
    "Prompts, answers4k",
  ]);
  const bars = all<HTMLElement>(".popover .share span").map((one) => one.style.width);
  expect(bars.slice(0, 4)).toEqual(["10%", "2.5%", "22.5%", "40%"]);
  await press(document.activeElement, "Escape");
  expect(all(".popover")).toHaveLength(0);
  expect(document.activeElement).toBe(usage());
});

test("why it cannot be told is said", async () => {
  await check(...told(story("fix_prices")));
  usage()?.click();
  await check({ type: "context", context: null, problem: "It is not open here." });
  expect(texts(".popover .problem")).toEqual(["It is not open here."]);
  await click("Close");
  forget();
  expect(all(".popover")).toHaveLength(0);
});

test("the conversation is shortened on demand, and the cursor goes back to the percentage", async () => {
  await check(...told(story("fix_prices")));
  usage()?.click();
  await check({ type: "context", context, problem: "" });
  forget();
  await click("Compact");
  expect(said).toEqual([{ type: "compact" }]);
  expect(all(".popover")).toHaveLength(0);
  expect(document.activeElement).toBe(usage());
});
