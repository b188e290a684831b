// Imported first, it makes the page one that the extension writes where VS Code speaks German: what
// is loaded after it speaks German too.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { page } from "../src/page";

const file = join(import.meta.dirname, "../l10n/bundle.l10n.de.json");
export const GERMAN = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;

const html = page({
  script: "panel.js",
  style: "panel.css",
  source: "vscode-webview:",
  nonce: "n0nce",
  l10n: { language: "de", texts: GERMAN },
});
// Not the whole document: it would load its style.
const [, language = "", root = ""] =
  /<html lang="(.*)">[^]*(<div id="root".*<\/div>)/.exec(html) ?? [];
document.documentElement.lang = language;
document.body.innerHTML = root;
await import("../src/view/language");
