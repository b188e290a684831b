// Bundles the extension for Node and the panel for the webview into dist/, or another folder.
//   node esbuild.mjs [--production] [--watch] [--outdir=FOLDER]
import * as esbuild from "esbuild";

const isProduction = process.argv.includes("--production");
const outdir = process.argv.find((word) => word.startsWith("--outdir="))?.slice(9) ?? "dist";
const shared = {
  bundle: true,
  outdir,
  minify: isProduction,
  sourcemap: isProduction ? false : "linked",
  logLevel: "warning",
  legalComments: "linked",
};
const builds = [
  {
    ...shared,
    entryPoints: { extension: "src/extension.ts" },
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
  },
  {
    ...shared,
    entryPoints: { panel: "src/view/main.tsx" },
    platform: "browser",
    target: "chrome122",
    format: "iife",
    tsconfig: "src/view/tsconfig.json",
    loader: { ".svg": "text" },
  },
];

if (process.argv.includes("--watch")) {
  const contexts = await Promise.all(builds.map((build) => esbuild.context(build)));
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  await Promise.all(builds.map((build) => esbuild.build(build)));
}
