// Pictures of the built panel in the editor's themes, to be looked at: npm run preview
//
// Needs a chromium on the PATH.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { frame, scenes, themes } from "./scenes.mjs";

const out = join(import.meta.dirname, "..", "dist", "preview");
const [HEIGHT, WIDTH] = [760, 350];
const WIDTHS = [250, WIDTH, 600];
const COLUMNS = 5;
const GAP = 10;

function picture(name, frames, [width, height]) {
  const page = join(out, `${name}.html`);
  writeFileSync(
    page,
    `<!DOCTYPE html><meta charset="utf-8"><style>body{margin:0;background:#777;font:12px sans-serif;display:flex;flex-wrap:wrap;width:${width - 10}px}figure{margin:5px}iframe{border:0;display:block}</style>${frames.join("")}`,
  );
  execFileSync(
    "chromium",
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--hide-scrollbars",
      "--virtual-time-budget=12000",
      "--allow-file-access-from-files",
      `--window-size=${width},${height}`,
      `--screenshot=${join(out, `${name}.png`)}`,
      `file://${page}`,
    ],
    { stdio: "ignore" },
  );
  process.stdout.write(`${join(out, `${name}.png`)}\n`);
}

mkdirSync(out, { recursive: true });
for (const theme of Object.keys(themes)) {
  scenes.forEach((scene, index) => {
    writeFileSync(join(out, `${theme}-${index}.html`), frame(scene, theme));
  });
  for (const width of WIDTHS) {
    const frames = scenes.map(
      ({ name, tall }, index) =>
        `<figure><figcaption>${name}</figcaption><iframe src="${theme}-${index}.html" width="${width}" height="${tall ? 2 * HEIGHT + GAP : HEIGHT}"></iframe></figure>`,
    );
    const rows = Math.ceil((scenes.length + 2) / COLUMNS);
    picture(`${theme}-${width}`, frames, [
      COLUMNS * (width + GAP) + GAP,
      rows * (HEIGHT + 3 * GAP),
    ]);
  }
}
// The one in docs/panel.png: an edit that asks, a turn at work, its changes under review.
const shown = ["edit waits", "running", "reviewing"].map((name) => {
  const index = scenes.findIndex((scene) => scene.name === name);
  return `<figure><iframe src="dark-${index}.html" width="${WIDTH}" height="${HEIGHT}"></iframe></figure>`;
});
picture("panel", shown, [3 * (WIDTH + GAP) + GAP, HEIGHT + GAP]);
// The one in docs/setup.png: no server, one that is being installed, a model without its key.
const steps = ["no server", "installing", "no key"].map((name) => {
  const index = scenes.findIndex((scene) => scene.name === `set up: ${name}`);
  return `<figure><iframe src="dark-${index}.html" width="${WIDTH}" height="${HEIGHT - 240}"></iframe></figure>`;
});
picture("setup", steps, [3 * (WIDTH + GAP) + GAP, HEIGHT - 230]);
