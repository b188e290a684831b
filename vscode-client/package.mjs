// Makes dist/agent-ls.vsix, or the file that is named, of exactly these files: npm run package
//
//   REPOSITORY=https://HOST/OWNER/NAME  where the sources are published. The manifest and the
//   pictures of the README need it; without it the package is only for "Install from VSIX…".
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createVSIX } from "@vscode/vsce";

const here = import.meta.dirname;
const repository = (process.env.REPOSITORY ?? "").replace(/(\.git|\/)+$/, "");
const out = resolve(process.argv[2] ?? join(here, "dist", "agent-ls.vsix"));
const stage = `${out}.files`;

const read = (name) => readFileSync(join(here, name), "utf8");
const put = (name, text) => writeFileSync(join(stage, name), text);

/** What users of the extension need of the manifest. */
function manifest() {
  const { devDependencies, scripts, ...rest } = JSON.parse(read("package.json"));
  const links = repository && {
    repository: { type: "git", url: `${repository}.git`, directory: "vscode-client" },
    bugs: { url: `${repository}/issues` },
    homepage: `${repository}#readme`,
  };
  return { ...rest, ...links };
}

/** The README with whole addresses: the marketplaces show no picture of the package. */
function readme() {
  const text = read("README.md");
  if (!repository) return text.replace(/^!\[.*\n\n?/gm, "");
  return text.replaceAll("](../", `](${repository}/raw/HEAD/`);
}

rmSync(stage, { recursive: true, force: true });
mkdirSync(join(stage, "dist"), { recursive: true });
const bundles = join(stage, "dist");
execFileSync(process.execPath, ["esbuild.mjs", "--production", `--outdir=${bundles}`], {
  cwd: here,
  stdio: "inherit",
});
for (const name of ["package.nls.json", "package.nls.de.json"]) put(name, read(name));
put("package.json", JSON.stringify(manifest(), null, 2));
put("README.md", readme());
put("CHANGELOG.md", read("../CHANGELOG.md"));
put("LICENSE", read("LICENSE"));
for (const name of ["l10n", "media"]) {
  cpSync(join(here, name), join(stage, name), { recursive: true });
}
await createVSIX({
  cwd: stage,
  packagePath: out,
  dependencies: false,
  rewriteRelativeLinks: false,
  allowMissingRepository: true,
});
if (!repository) {
  process.stderr.write("Without REPOSITORY=https://… this is not for a marketplace.\n");
}
process.stdout.write(`${out}: ${readdirSync(bundles).length} bundled files\n`);
rmSync(stage, { recursive: true, force: true });
