// Numbers and texts as a user reads them.
import { expect, test } from "vitest";
import * as format from "../src/view/format";

test.each([
  [0, "0"],
  [999, "999"],
  [1_000, "1k"],
  [12_345, "12k"],
  [9_940, "9.9k"],
  [1_250_000, "1.3M"],
])("%d tokens are %s", (value, expected) => expect(format.count(value)).toBe(expected));

test.each([
  [0, ""],
  [0.00001, "<$0.0001"],
  [0.0042, "$0.0042"],
  [0.05, "$0.05"],
  [0.314, "$0.31"],
  [12.5, "$12.50"],
])("%d dollars are %s", (value, expected) => expect(format.money(value)).toBe(expected));

test.each([
  [40, "40 ms"],
  [1_240, "1.2 s"],
  [42_000, "42 s"],
  [200_000, "3 min 20 s"],
])("%d milliseconds are %s", (value, expected) => expect(format.duration(value)).toBe(expected));

test.each([
  ["read_file", "read_file a.py", ["Read", "a.py"]],
  ["update_plan", "update_plan", ["Update plan", ""]],
  ["mcp_x", "Something else", ["Something else", ""]],
])("the call %s titled %s is told in words", (tool, title, expected) =>
  expect(format.callWords({ tool, title })).toEqual(expected),
);

test.each([
  [{ command: "make test" }, "make test"],
  [{ path: "a", line: 3 }, '{\n  "path": "a",\n  "line": 3\n}'],
  ["{broken", "{broken"],
  [null, ""],
])("the arguments %j are shown", (input, expected) =>
  expect(format.callInput(input)).toBe(expected),
);

test.each([
  ["a\u202eb", "a\\u{202e}b"],
  ["a\u0000b\u001bc", "a\\u{0}b\\u{1b}c"],
  ["zero\u200bwidth", "zero\\u{200b}width"],
  ["tag\u{e0041}", "tag\\u{e0041}"],
  ["tab\tand\r\nline\n", "tab\tand\nline\n"],
  ["Grüße, 日本, 👩‍💻".replace("\u200d", ""), "Grüße, 日本, 👩💻"],
])("%j shows everything that is in it", (text, expected) =>
  expect(format.visible(text)).toBe(expected),
);

test("terminal codes are left out of output, and overwritten lines too", () => {
  expect(
    format.printed("\u001b[1;31mred\u001b[0m \u001b]8;;x\u0007link\n10%\r50%\r100%\nend\r\n"),
  ).toBe("red link\n100%\nend\n");
});
