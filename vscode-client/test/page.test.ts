// The panel's document and the extension's manifest keep what they promise.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PANEL_COMMANDS } from "../src/messages";
import { page } from "../src/page";

const folder = join(import.meta.dirname, "..");
const english = JSON.parse(readFileSync(join(folder, "package.nls.json"), "utf8")) as Texts;
const manifest = JSON.parse(
  readFileSync(join(folder, "package.json"), "utf8"),
  (_key, value: unknown) =>
    typeof value === "string"
      ? value.replace(/^%(.+)%$/, (_, key: string) => english[key] ?? "")
      : value,
) as Manifest;

type Texts = Record<string, string>;

interface Manifest {
  version: string;
  contributes: {
    walkthroughs: { steps: { description: string; media: { markdown: string } }[] }[];
    commands: { command: string }[];
    configuration: { properties: Record<string, { scope: string }> };
  };
}

test("the document allows nothing but our script and our style", () => {
  const html = page({ script: "s.js", style: "s.css", source: "vscode-webview:", nonce: "n0nce" });
  expect(html).toContain(
    "default-src 'none'; script-src 'nonce-n0nce'; style-src vscode-webview:; base-uri 'none'; form-action 'none'",
  );
  expect(html.match(/<script/g)).toHaveLength(1);
  expect(html).not.toMatch(/unsafe|https?:/);
});

test("only where the editor speaks another language the document has its texts", () => {
  const parts = { script: "s.js", style: "s.css", source: "vscode-webview:", nonce: "n0nce" };
  expect(page(parts)).toContain('<html lang="en">');
  expect(page(parts)).toContain('<div id="root"></div>');
  const html = page({ ...parts, l10n: { language: "de", texts: { '"a"': "<b> & „c“" } } });
  expect(html).toContain('<html lang="de">');
  expect(html).toContain(
    'data-texts="{&quot;\\&quot;a\\&quot;&quot;:&quot;&lt;b> &amp; „c“&quot;}"',
  );
});

test("every button of the panel runs a command that exists", () => {
  const commands = manifest.contributes.commands.map((one) => one.command);
  for (const name of PANEL_COMMANDS) expect(commands).toContain(`agent-ls.${name}`);
});

test("the walkthrough's links run commands that exist, and its pages are there", () => {
  const commands = manifest.contributes.commands.map((one) => one.command);
  const steps = manifest.contributes.walkthroughs.flatMap((one) => one.steps);
  expect(steps).toHaveLength(4);
  for (const { description, media } of steps) {
    for (const [, command] of description.matchAll(/\(command:([^)]+)\)/g)) {
      expect(commands).toContain(command);
    }
    // VS Code looks for the German page beside the English one.
    for (const name of [media.markdown, media.markdown.replace(/md$/, "nls.de.md")]) {
      expect(readFileSync(join(folder, name), "utf8")).toMatch(/^## /);
    }
  }
});

test("extension and server have one version", () => {
  const server = readFileSync(join(folder, "../agent_ls/__init__.py"), "utf8");
  expect(server).toContain(`__version__ = "${manifest.version}"`);
});

test("what chooses a program, an endpoint or a permission is not read from a workspace", () => {
  const settings = manifest.contributes.configuration.properties;
  for (const name of ["serverCommand", "python", "model", "mode", "installFrom", "start"]) {
    expect(settings[`agent-ls.${name}`]?.scope).toBe("machine");
  }
});

test("the panel's style uses the editor's colours only", () => {
  for (const name of ["base", "transcript", "markdown", "dock", "composer", "setup"]) {
    const css = readFileSync(join(folder, `src/view/style/${name}.css`), "utf8");
    expect(css.match(/#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(/gi)).toBeNull();
    expect(css).not.toMatch(/url\(/);
  }
});
