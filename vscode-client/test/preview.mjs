// Pictures of the built panel in the editor's themes: npm run preview [-- dark-350 panel …]
//
// One sheet for each theme and width in dist/preview, with the place of each scene on it in
// cells.json. To be looked at, and compared by tests/panel. Needs a chromium on the PATH.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browse } from "./chromium.mjs";
import { frame, scenes, themes } from "./scenes.mjs";

const dist = join(import.meta.dirname, "..", "dist");
const out = join(dist, "preview");
const HEIGHT = 760;
const WIDTHS = [250, 350, 600];
const [GAP, CAPTION, ROWS] = [10, 20, 4];
const TOLD = "<script>shown.then(() => parent.postMessage('shown', '*'))</script>";

/** Where scenes stand on a sheet, from top to bottom and then from left to right. */
function placed(shown, width, height = HEIGHT, rows = ROWS) {
  let [column, row] = [0, 0];
  return shown.map(({ name, tall }) => {
    const size = tall ? 2 : 1;
    if (row + size > rows) [column, row] = [column + 1, 0];
    const x = GAP + column * (width + GAP);
    const y = CAPTION + row * (height + CAPTION);
    row += size;
    return { name, x, y, width, height: size * height + (size - 1) * CAPTION };
  });
}

function some(width, height, ...names) {
  return placed(
    names.map((name) => ({ name })),
    width,
    height,
    1,
  );
}

const sheets = Object.fromEntries(
  Object.keys(themes).flatMap((theme) =>
    WIDTHS.map((width) => [`${theme}-${width}`, { theme, cells: placed(scenes, width) }]),
  ),
);
// Those of the documentation, docs/panel.png and docs/setup.png.
const work = ["an edit waits", "a command prints", "changes to review"];
const steps = ["no server", "installing", "no key"].map((name) => `set up: ${name}`);
sheets.panel = { theme: "dark", cells: some(350, HEIGHT, ...work) };
sheets.setup = { theme: "dark", cells: some(350, 520, ...steps) };

/** A page of scenes, which tells when all of them are drawn. */
function sheet(cells, theme) {
  const frames = cells.map(({ name, x, y, width, height }) => {
    const index = scenes.findIndex((scene) => scene.name === name);
    return `<p style="left:${x}px;top:${y - CAPTION}px">${name}</p><iframe src="/scenes/${theme}-${index}.html" style="left:${x}px;top:${y}px" width="${width}" height="${height}"></iframe>`;
  });
  return `<!DOCTYPE html><meta charset="utf-8"><style>body{margin:0;background:#777}iframe,p{position:absolute;border:0}p{margin:2px 0;font:13px 'DejaVu Sans'}</style><script>
let left = ${cells.length};
addEventListener("message", ({ data }) => {
  if (data !== "shown" || --left) return;
  // Which scene took the focus last is chance.
  document.activeElement.blur();
  requestAnimationFrame(() => fetch("/done", { method: "POST", body: "{}" }));
});
</script>${frames.join("")}`;
}

const wanted = process.argv.slice(2);
const drawn = Object.keys(sheets).filter((name) => !wanted.length || wanted.includes(name));
const pages = Object.fromEntries([
  ...drawn.map((name) => [`/${name}.html`, sheet(sheets[name].cells, sheets[name].theme)]),
  ...Object.keys(themes).flatMap((theme) =>
    scenes.map((scene, index) => [`/scenes/${theme}-${index}.html`, frame(scene, theme, TOLD)]),
  ),
]);
const files = { "/panel.js": join(dist, "panel.js"), "/panel.css": join(dist, "panel.css") };
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "cells.json"), JSON.stringify(sheets));
await browse({ pages, files }, async (open) => {
  for (const name of drawn) {
    const { cells } = sheets[name];
    const right = Math.max(...cells.map(({ x, width }) => x + width)) + GAP;
    const bottom = Math.max(...cells.map(({ y, height }) => y + height)) + GAP;
    const { shoot } = await open(`/${name}.html`, [right, bottom]);
    writeFileSync(join(out, `${name}.png`), await shoot());
    process.stdout.write(`${join(out, `${name}.png`)}\n`);
  }
});
