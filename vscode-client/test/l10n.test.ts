// Everything that a user reads is translated: what the code says, what the manifest says, and nothing
// that neither of them says any more. A text's key is its English itself.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "..");
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const table = (name: string) => JSON.parse(read(name)) as Record<string, string>;

const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
  .map((name) => `src/${name.replaceAll("\\", "/")}`)
  .filter((name) => /\.tsx?$/.test(name) && !/\.d\.ts$|wire\.ts$/.test(name))
  .map((name) => ts.createSourceFile(name, read(name), ts.ScriptTarget.ES2022, true));

/** Call it for a node and all that is in it. */
function walk(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  node.forEachChild((child) => walk(child, look));
}

function each<T>(found: (node: ts.Node, file: string) => readonly T[]): T[] {
  const all: T[] = [];
  for (const source of sources) walk(source, (node) => all.push(...found(node, source.fileName)));
  return all;
}

interface Used {
  text: string;
  /** How many values are put in; null: an element is, by `around`. */
  values: number | null;
}

/** The texts that a call translates; null: it is no such call. */
function textsOf(
  call: ts.CallExpression,
): (readonly [ts.Node | undefined, number | null])[] | null {
  const callee = call.expression.getText();
  const [first, one, many] = call.arguments;
  const isAround =
    ts.isCallExpression(call.parent) && call.parent.expression.getText() === "around";
  const values = call.arguments.length - 1;
  if (callee === "t" || callee === "vscode.l10n.t") return [[first, isAround ? null : values]];
  if (callee !== "plural") return null;
  return [one, many].map((node) => [node, values - 1] as const);
}

const isText = (node?: ts.Node) => node !== undefined && ts.isStringLiteralLike(node);

const used = each((node): Used[] =>
  ts.isCallExpression(node)
    ? (textsOf(node) ?? []).flatMap(([text, values]) =>
        text && ts.isStringLiteralLike(text) ? [{ text: text.text, values }] : [],
      )
    : [],
);

const holes = (text: string) => [...new Set(text.match(/\{\d+\}|\$1/g))].sort();

test("every text that is translated stands in the code as it is", () => {
  const others = each((node, file) =>
    ts.isCallExpression(node) && textsOf(node)?.some(([text]) => !isText(text))
      ? [`${file}: ${node.getText()}`]
      : [],
  );
  // How `plural` itself is made.
  expect(others).toEqual(["src/l10n.ts: t(value === 1 ? one : many, value, ...more)"]);
  expect(used.length).toBeGreaterThan(400);
});

test("the German bundle has the texts of the code, each with its values, and no others", () => {
  const german = table("l10n/bundle.l10n.de.json");
  const english = [...new Set(used.map(({ text }) => text))];
  expect(Object.keys(german).sort()).toEqual(english.sort());
  for (const [text, words] of Object.entries(german)) {
    expect(holes(words), text).toEqual(holes(text));
    expect(words.trim(), text).not.toBe("");
  }
});

test("each text is given as many values as it has places for", () => {
  for (const { text, values } of used) {
    const places = holes(text).filter((one) => one !== "$1");
    // A sentence for one thing need not name the number.
    const wanted = values === null ? ["{0}"] : [...Array(values).keys()].map((at) => `{${at}}`);
    expect(wanted, text).toEqual(expect.arrayContaining(places));
    if (places.length) expect(places, text).toContain(wanted.at(-1));
  }
});

test("the manifest's texts are there in both languages, and no others", () => {
  const english = table("package.nls.json");
  const keys = [...read("package.json").matchAll(/"%([^%"]+)%"/g)].map((one) => one[1]);
  expect(Object.keys(english).sort()).toEqual([...new Set(keys)].sort());
  const german = table("package.nls.de.json");
  expect(Object.keys(german)).toEqual(Object.keys(english));
  const targets = (text = "") => text.match(/\(command:[^)]+\)|`[^`]+`/g)?.sort();
  for (const [key, text] of Object.entries(english)) {
    expect(targets(german[key]), key).toEqual(targets(text));
  }
});

const FIELDS = /^(title|category|label|name|contextualTitle|contents|(markdown)?[dD]escription)$/;

test("nothing that the manifest shows is left untranslated", () => {
  const left: string[] = [];
  JSON.parse(read("package.json"), (key, value: unknown) => {
    const texts = key === "enumDescriptions" ? (value as string[]) : [value];
    if (key !== "enumDescriptions" && !FIELDS.test(key)) return value;
    left.push(
      ...texts.filter((one) => typeof one === "string" && !one.startsWith("%")).map(String),
    );
    return value;
  });
  // The package's own name, and the heading of its settings.
  expect(left).toEqual(["agent-ls", "Agent LS"]);
});

/** Attributes whose words are seen or heard; of components, too. */
const SPOKEN = /^(title|aria-label|placeholder|alt|label|words|summary)$/;
/** Components that speak their `name`; an icon has one that nobody reads. */
const NAMED = /^(Tool|Turn|Step)$/;
const hasWords = (text: string) => /\p{L}{2}/u.test(text);

/** The texts that an expression may come to without a call: what is read or drawn as it is. */
function bare(node: ts.Node): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map((one) => one.literal.text)];
  }
  if (ts.isConditionalExpression(node)) return [...bare(node.whenTrue), ...bare(node.whenFalse)];
  if (ts.isParenthesizedExpression(node)) return bare(node.expression);
  if (!ts.isBinaryExpression(node)) return [];
  const isAnd = node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
  return [...(isAnd ? [] : bare(node.left)), ...bare(node.right)];
}

/** The bare texts of an attribute that is shown or read out. */
function spoken(node: ts.JsxAttribute): string[] {
  const value = node.initializer;
  const name = node.name.getText();
  const isNamed = name === "name" && NAMED.test(node.parent.parent.tagName.getText());
  if (!value || !(isNamed || SPOKEN.test(name))) return [];
  if (ts.isJsxExpression(value)) return value.expression ? bare(value.expression) : [];
  return bare(value);
}

test("nothing that the panel shows is left untranslated", () => {
  const left = each((node) => {
    if (ts.isJsxText(node)) return [node.text];
    if (ts.isJsxAttribute(node)) return spoken(node);
    const isChild = ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent);
    return isChild && node.expression ? bare(node.expression) : [];
  });
  // An instruction to the agent in a program, which may be in any language.
  expect(left.filter(hasWords).map((one) => one.trim())).toEqual(["# agent: add type hints"]);
});

test("no message and no error of the extension is left untranslated", () => {
  const left = each((node) => {
    const isNew = ts.isNewExpression(node) && /Error$/.test(node.expression.getText());
    const isCall = ts.isCallExpression(node);
    const isShow = isCall && /\.show\w+(Message|Box|Pick|Dialog)$/.test(node.expression.getText());
    if (!isNew && !isShow) return [];
    const options = (node.arguments ?? []).flatMap((one) =>
      ts.isObjectLiteralExpression(one)
        ? one.properties.flatMap((it) => (ts.isPropertyAssignment(it) ? [it.initializer] : []))
        : [one],
    );
    return options.flatMap(bare);
  });
  // No user sees it: it is a mistake of ours.
  expect(left.filter(hasWords)).toEqual(["a row without a part is no chip"]);
});
