// Looks for what keeps users out, in each scene, theme and width: npm run axe
//
// Ends with 1 when axe-core finds something serious. Needs a chromium on the PATH.
import { createRequire } from "node:module";
import { join } from "node:path";
import { visit } from "./chromium.mjs";
import { frame, scenes, themes } from "./scenes.mjs";

const WIDTHS = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [250, 350, 600];
/** How many scenes are looked at at a time. */
const AT_ONCE = 6;
const dist = join(import.meta.dirname, "..", "dist");

const LOOK = `<script src="/axe.js"></script><script>
shown.then(async () => {
  const found = await axe.run(document, {
    resultTypes: ["violations"],
    rules: { "label-content-name-mismatch": { enabled: true } },
  });
  parent.postMessage({ name: location.hash.slice(1), found: found.violations.map(({ id, impact, nodes }) => ({
    id, impact, nodes: nodes.map((one) => one.target.join(" ") + " " + (one.any[0]?.message ?? "")),
  })) }, "*");
});
</script>`;

const pages = {};
const names = [];
for (const theme of Object.keys(themes)) {
  scenes.forEach((scene, index) => {
    pages[`/scenes/${theme}-${index}.html`] = frame(scene, theme, LOOK);
    for (const width of WIDTHS) names.push(`${theme}-${index}-${width}`);
  });
}
pages["/"] = `<!DOCTYPE html><meta charset="utf-8"><body><script>
const names = ${JSON.stringify(names)}, results = [];
const next = () => {
  const name = names.shift();
  if (!name) return;
  const [, page, width] = /^(.*)-(\\d+)$/.exec(name);
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.id = name;
  frame.src = "/scenes/" + page + ".html#" + name;
  document.body.append(frame);
};
addEventListener("message", ({ data }) => {
  if (!data.found) return;
  results.push(data);
  document.getElementById(data.name).remove();
  next();
  if (results.length === ${names.length}) fetch("/done", { method: "POST", body: JSON.stringify(results) });
});
for (let n = 0; n < ${AT_ONCE}; n++) next();
</script>`;

const results = await visit({
  pages,
  files: {
    "/panel.js": join(dist, "panel.js"),
    "/panel.css": join(dist, "panel.css"),
    "/axe.js": createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  },
});
const serious = new Map();
for (const { name, found } of results) {
  for (const { id, impact, nodes } of found) {
    if (impact !== "serious" && impact !== "critical") continue;
    const [, theme, scene] = /^(.*)-(\d+)-\d+$/.exec(name);
    for (const node of nodes) {
      const key = `${impact} ${id}: ${node}`;
      serious.set(key, [...(serious.get(key) ?? []), `${theme} “${scenes[scene].name}”`]);
    }
  }
}
for (const [what, where] of serious) {
  process.stdout.write(`${what}\n    ${[...new Set(where)].join(", ")}\n`);
}
process.stdout.write(`${results.length} looked at, ${serious.size} serious\n`);
process.exitCode = serious.size ? 1 : 0;
