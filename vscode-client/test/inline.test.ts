// Where the agent's open changes are drawn in a document.
import { expect, test } from "vitest";
import { marksOf } from "../src/inline";
import { isAt } from "../src/review";
import type { ReviewHunk } from "../src/wire";

function hunk(line: number, endLine: number, removedLines = 0): ReviewHunk {
  return {
    hunkId: "h",
    kind: "text",
    state: "open",
    line,
    endLine,
    addedLines: endLine - line,
    removedLines,
    isChangedSince: false,
    continues: false,
    title: "",
    old: null,
    new: null,
  };
}

test.each([
  ["added lines", hunk(2, 4), [1, 2, 3, 4], [2, 3]],
  ["removed lines are on the line below them", hunk(2, 2, 3), [1, 2, 3], [2]],
])("%s", (_, one, asked, wanted) => {
  expect(asked.filter((line) => isAt(one, line))).toEqual(wanted);
});

test("a selection has a change that it touches", () => {
  expect(isAt(hunk(4, 6), 0, 4)).toBe(true);
  expect(isAt(hunk(4, 6), 5, 9)).toBe(true);
  expect(isAt(hunk(4, 6), 6, 9)).toBe(false);
});

test("added lines are tinted, and a mark says how many went", () => {
  const { added, removed } = marksOf([hunk(1, 3, 1), hunk(5, 5, 2)], 9);
  expect(added).toMatchObject([{ line: 1, lastLine: 2 }]);
  expect(removed.map((one) => one.renderOptions?.after?.contentText)).toEqual([
    "− 1 line",
    "− 2 lines",
  ]);
});

test("what is behind the last line is drawn on it, as the text may be shorter meanwhile", () => {
  const { added, removed } = marksOf([hunk(1, 9), hunk(9, 9, 1), hunk(12, 14)], 4);
  expect(added).toMatchObject([{ line: 1, lastLine: 3 }]);
  expect(removed).toMatchObject([{ range: { line: 3, lastLine: 3 } }]);
});
