// Going back asks the server in an order in which nothing can be lost halfway.
import { expect, test } from "vitest";
import type { Conversation } from "../src/conversation";
import { goBack } from "../src/rewind";
import type { Review } from "../src/review";
import type { Agent } from "../src/server";
import type { ReviewFileResult } from "../src/wire";

const sent = { text: "Fix it", parts: [] };
const session = { sessionId: "ses_fork" };
const back = [{ status: "done" }] as unknown as ReviewFileResult[];

function parts(refuses = "") {
  const asked: unknown[] = [];
  const answer = (method: string, params: unknown, result: unknown) => {
    asked.push([method, params]);
    return method === refuses ? Promise.reject(new Error("no")) : Promise.resolve(result);
  };
  const agent = {
    request: (method: string, params: unknown) =>
      answer(method, params, method === "agent/prompt/sent" ? sent : { session }),
  } as unknown as Agent;
  const conversation = {
    refresh: () => answer("refresh", null, undefined),
  } as unknown as Conversation;
  const review = {
    restore: (sessionId: string, moment: unknown, isTrial: boolean) =>
      answer("restore", { sessionId, moment, isTrial }, back),
  } as unknown as Review;
  return { asked, all: { agent, conversation, review } };
}

const meant = { sessionId: "ses_01", turnId: "trn_02" };
const prompt = ["agent/prompt/sent", meant];
const fork = ["agent/sessions/fork", { sessionId: "ses_01", turn: "trn_02", isBefore: true }];
const restore = [
  "restore",
  { sessionId: "ses_01", moment: { turnId: "trn_03", toolCallId: null }, isTrial: false },
];
const config = ["agent/config", { sessionId: "ses_fork", model: "openai/other" }];
const refresh = ["refresh", null];

test.each([
  ["talk", null, null, [prompt, fork, refresh], []],
  ["talk and files", "trn_03", null, [prompt, restore, fork, refresh], back],
  ["another model", null, "openai/other", [prompt, fork, config, refresh], []],
])("%s", async (_, filesTurnId, model, steps, files) => {
  const { asked, all } = parts();
  const went = await goBack(all, { ...meant, filesTurnId }, model);
  expect(asked).toEqual(steps);
  expect(went).toEqual({ text: "Fix it", chips: [], sessionId: "ses_fork", files });
});

test.each(["agent/prompt/sent", "restore", "agent/sessions/fork"])(
  "when %s is refused nothing after it happens",
  async (refused) => {
    const { asked, all } = parts(refused);
    const going = goBack(all, { ...meant, filesTurnId: "trn_03" }, null);
    await expect(going).rejects.toThrow("no");
    expect(asked.at(-1)).toEqual([refused, expect.anything()]);
  },
);
