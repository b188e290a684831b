// Pictures of the built panel in the editor's themes: npm run preview
//
// One sheet for each theme and width in dist/preview, with the place of each scene on it in
// cells.json. To be looked at, and compared by tests/panel. Needs a chromium on the PATH.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { frame, scenes, themes } from "./scenes.mjs";

const out = join(import.meta.dirname, "..", "dist", "preview");
const HEIGHT = 760;
const WIDTHS = [250, 350, 600];
const [GAP, CAPTION, ROWS] = [10, 20, 4];

/** Where the scenes stand on a sheet, from top to bottom and then from left to right. */
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

function picture(name, cells, theme) {
  const page = join(out, `${name}.html`);
  const right = Math.max(...cells.map(({ x, width }) => x + width)) + GAP;
  const bottom = Math.max(...cells.map(({ y, height }) => y + height)) + GAP;
  const frames = cells.map((cell) => {
    const index = scenes.findIndex((scene) => scene.name === cell.name);
    const { x, y, width, height } = cell;
    return `<p style="left:${x}px;top:${y - CAPTION}px">${cell.name}</p><iframe src="${theme}-${index}.html" style="left:${x}px;top:${y}px" width="${width}" height="${height}"></iframe>`;
  });
  writeFileSync(
    page,
    `<!DOCTYPE html><meta charset="utf-8"><style>body{margin:0;background:#777}iframe,p{position:absolute;border:0}p{margin:2px 0;font:13px 'DejaVu Sans'}</style>${frames.join("")}`,
  );
  execFileSync(
    "chromium",
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--hide-scrollbars",
      "--virtual-time-budget=5000",
      "--allow-file-access-from-files",
      `--window-size=${right},${bottom}`,
      `--screenshot=${join(out, `${name}.png`)}`,
      `file://${page}`,
    ],
    { stdio: "ignore" },
  );
  process.stdout.write(`${join(out, `${name}.png`)}\n`);
}

mkdirSync(out, { recursive: true });
const sheets = {};
const wanted = process.argv.slice(2);
const draw = (name, theme, cells) => {
  sheets[name] = cells;
  if (!wanted.length || wanted.includes(name)) picture(name, cells, theme);
};
for (const theme of Object.keys(themes)) {
  scenes.forEach((scene, index) => {
    writeFileSync(join(out, `${theme}-${index}.html`), frame(scene, theme));
  });
  for (const width of WIDTHS) draw(`${theme}-${width}`, theme, placed(scenes, width));
}
const some = (...names) => names.map((name) => ({ name }));
// Those of the documentation, docs/panel.png and docs/setup.png.
draw("panel", "dark", placed(some("an edit waits", "a command prints", "changes to review"), 350, HEIGHT, 1));
const steps = some("set up: no server", "set up: installing", "set up: no key");
draw("setup", "dark", placed(steps, 350, 520, 1));
writeFileSync(join(out, "cells.json"), JSON.stringify(sheets));
