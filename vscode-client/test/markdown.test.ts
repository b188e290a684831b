// @vitest-environment happy-dom
// Hostile Markdown is text, and what has streamed in stays as it was.
import { expect, test } from "vitest";
import { renderBlocks } from "../src/view/markdown";

function check(text: string): HTMLElement {
  const box = document.createElement("div");
  box.innerHTML = renderBlocks(text).join("");
  return box;
}

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "![x](https://evil.example/beacon.png)",
  "[x](javascript:alert(1))",
  '[x](https://evil.example "\\" onmouseover=alert(1) \\"")',
  '<https://evil.example/"onclick=alert(1)>',
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](command:workbench.action.terminal.new)",
  '```"><script>alert(1)</script>\n<iframe src=//evil.example></iframe>\n```',
  "| a |\n|---|\n| <form action=//evil.example><input> |",
  "<style>*{display:none}</style>",
])("%s loads, runs and leads to nothing", (text) => {
  const box = check(text);
  expect(box.querySelectorAll("script, img, iframe, form, input, style, object, svg")).toHaveLength(
    0,
  );
  for (const one of box.querySelectorAll("*")) {
    for (const { name } of one.attributes) {
      expect(["class", "data-href", "role", "start", "tabindex", "title", "type"]).toContain(name);
    }
  }
});

test("an address is shown before anybody follows it", () => {
  const link = check("[the docs](https://example.org/a?b=1&c=2)").querySelector("a");
  expect(link?.getAttribute("title")).toBe("https://example.org/a?b=1&c=2");
  expect(link?.getAttribute("href")).toBeNull();
});

test("a picture is a link with its words", () => {
  const link = check("![a chart](https://example.org/c.png)").querySelector("a");
  expect(link?.textContent).toBe("a chart");
});

test("known languages are coloured, unknown ones are not", () => {
  expect(check("```python\ndef f(): pass\n```").querySelector(".hljs-keyword")?.textContent).toBe(
    "def",
  );
  expect(check("```klingon\ndef f(): pass\n```").querySelector("code")?.innerHTML).toBe(
    "def f(): pass\n",
  );
});

test("code keeps its text exactly", () => {
  const code = "if a < b && c > d:\n\tprint('&amp;')\n";
  expect(check(`\`\`\`python\n${code}\`\`\``).querySelector("code")?.textContent).toBe(code);
});

test("blocks that are complete stay the same while more streams in", () => {
  const text = "# One\n\nTwo *words*.\n\n- three\n- four\n\n```js\nconst five = 5;\n```\n\nSix.";
  let before: string[] = [];
  for (let end = 1; end <= text.length; end += 1) {
    const now = renderBlocks(text.slice(0, end));
    // The last block may still change into something else; those before it may not.
    expect(now.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
    before = now;
  }
  expect(before).toHaveLength(5);
});
