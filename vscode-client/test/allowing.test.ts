// A menu of the editor allows nothing that was not seen whole.
import { expect, test } from "vitest";
import { allowedBy } from "../src/allowing";
import type { Lives } from "../src/fold/live";

const LIVES: Lives = new Map([
  ["ses_1", { isRunning: true, waiting: new Map() }],
  ["ses_2", { isRunning: true, waiting: new Map([["apr_1", { words: "Run rm", isPlan: false }]]) }],
  [
    "ses_3",
    {
      isRunning: true,
      waiting: new Map([
        ["que_1", { words: "Which of them may run?", isPlan: true }],
        ["que_2", { words: "Which colour?", isPlan: false }],
      ]),
    },
  ],
]);
const ANSWER = "agent-ls.question.resolve";
const PLAN = { id: "que_1", sessionId: "ses_3" };
const RESOLVE = "agent-ls.approval.resolve";
const FOUND = { id: "apr_1", sessionId: "ses_2" };

test.each([
  ["once", RESOLVE, [{ approvalId: "apr_1", sessionId: "ses_2", choice: "allow_once" }], FOUND],
  ["for ever", RESOLVE, [{ approvalId: "apr_1", choice: "allow_always" }], FOUND],
  ["with other arguments", RESOLVE, [{ approvalId: "apr_1", choice: "amend" }], FOUND],
  ["by a key binding's plain words", RESOLVE, ["apr_1", "allow_session"], FOUND],
  ["a rejection", RESOLVE, [{ approvalId: "apr_1", choice: "reject_once" }], null],
  ["what does not wait any more", RESOLVE, [{ approvalId: "apr_9", choice: "allow_once" }], null],
  ["nothing", RESOLVE, [], null],
  ["null", RESOLVE, [null], null],
  ["no choice", RESOLVE, ["apr_1"], null],
  ["an odd one", RESOLVE, [{ approvalId: 1, choice: ["allow_once"] }], null],
  ["every step of a plan", ANSWER, [{ questionId: "que_1", text: "all" }], PLAN],
  ["steps by plain words", ANSWER, ["que_1", "1, 3-4"], PLAN],
  ["steps that ask again", ANSWER, [{ questionId: "que_1", text: "one by one" }], null],
  ["no step", ANSWER, [{ questionId: "que_1", text: "none" }], null],
  ["words for another plan", ANSWER, [{ questionId: "que_1", text: "do it in Go" }], null],
  ["a question", ANSWER, [{ questionId: "que_2", text: "all" }], null],
  ["another command", "agent-ls.approval.show", ["apr_1", "allow_once"], null],
])("%s", (_, command, args, found) => {
  expect(allowedBy(command, args, LIVES)).toEqual(found);
});
