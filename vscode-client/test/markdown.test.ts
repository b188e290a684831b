// @vitest-environment happy-dom
// Hostile Markdown is text, and what has streamed in stays as it was.
import { expect, test } from "vitest";
import { NOTHING, render } from "../src/view/markdown";

function check(text: string): HTMLElement {
  const box = document.createElement("div");
  box.innerHTML = render(text).blocks.join("");
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

const GROWING = [
  "# One\n\nTwo *words*.\n\n- three\n- four\n\n```js\nconst five = 5;\n```\n\nSix.",
  "a\n===\n\nb\n---\n\n| c | d |\n|---|---|\n| 1 | 2 |\n\nend",
  "> quote\nlazy\n\n1. one\n\n   inner\n\n2. two\n\n    code\n\ntext\n\n    code\n",
  "- a\n\n  ```py\n  x = 1\n  ```\n- b\n\n~~~\nfence\n\nstill\n~~~\n***\nafter\n",
  "Grüße 👩‍💻\n\n日本語 **太字**\n\n\n\nend",
];

test.each(GROWING)("text that grows is rendered as if it had come at once: %j", (text) => {
  let grown = NOTHING;
  for (let end = 1; end <= text.length; end += 1) {
    const now = text.slice(0, end);
    const before = grown.blocks;
    grown = render(now, grown);
    expect(grown.blocks).toEqual(render(now).blocks);
    // What is complete stays the same, so that nothing in it is drawn again.
    expect(grown.blocks.slice(0, Math.max(0, before.length - 2))).toEqual(before.slice(0, -2));
  }
});

test("whatever grows is rendered as if it had come at once", () => {
  const bits = ["- ", "1. ", "2", ".", "\n", "\n\n", "    ", "> ", "```", "a", "b *c*", "|", "---"];
  let seed = 7;
  const next = (count: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return (seed >> 8) % count;
  };
  for (let times = 0; times < 60; times += 1) {
    let text = "";
    let grown = NOTHING;
    for (let piece = 0; piece < 25; piece += 1) {
      text += bits[next(bits.length)] ?? "";
      grown = render(text, grown);
      expect([text, grown.blocks]).toEqual([text, render(text).blocks]);
    }
  }
});

test("text that is replaced is rendered anew", () => {
  const before = render("# One\n\nTwo");
  expect(render("Three", before).blocks).toEqual(render("Three").blocks);
  expect(render("# One\r\n\r\nTwo\r\n\r\nx", before).blocks).toHaveLength(3);
});
