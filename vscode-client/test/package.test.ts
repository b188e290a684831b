// What users install holds what they need, and can be published.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

const here = join(import.meta.dirname, "..");
const REPOSITORY = "https://example.com/ann/agent-ls";
const MAX_BYTES = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), "vsix-"));

/** The files of a zip and their texts, by the names in its directory. */
function unzip(path: string): Map<string, string> {
  const zip = readFileSync(path);
  const end = zip.lastIndexOf(Buffer.from("PK\u0005\u0006"));
  const files = new Map<string, string>();
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [names, extras, comments] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const name = zip.toString("utf8", at + 46, at + 46 + (names ?? 0));
    const start = zip.readUInt32LE(at + 42);
    const from = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
    const data = zip.subarray(from, from + zip.readUInt32LE(at + 20));
    const isPacked = zip.readUInt16LE(at + 10) !== 0;
    files.set(name, (isPacked ? inflateRawSync(data) : data).toString("utf8"));
    at += 46 + (names ?? 0) + (extras ?? 0) + (comments ?? 0);
  }
  return files;
}

function packed(name: string, repository: string): { files: Map<string, string>; bytes: number } {
  const out = join(folder, name);
  // The registries' addresses lead nowhere: nothing is fetched.
  const env = { ...process.env, REPOSITORY: repository, HTTPS_PROXY: "http://127.0.0.1:9" };
  execFileSync(process.execPath, ["package.mjs", out], { cwd: here, env, stdio: "pipe" });
  return { files: unzip(out), bytes: readFileSync(out).length };
}

let published: ReturnType<typeof packed>;
beforeAll(() => {
  published = packed("published.vsix", REPOSITORY);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string) => published.files.get(`extension/${name}`) ?? "";

test("it needs nothing that only some builds of VS Code have, so that VSCodium runs it", () => {
  const manifest = JSON.parse(file("package.json")) as Record<string, unknown>;
  expect(Object.keys(manifest)).not.toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^(enabledApiProposals|extension(Pack|Dependencies))$/),
    ]),
  );
});

test("the package holds exactly these files: no source map, no server, no sources", () => {
  expect([...published.files.keys()].sort()).toEqual([
    "[Content_Types].xml",
    "extension.vsixmanifest",
    "extension/LICENSE.txt",
    "extension/changelog.md",
    "extension/dist/extension.js",
    "extension/dist/panel.css",
    "extension/dist/panel.js",
    "extension/dist/panel.js.LEGAL.txt",
    "extension/l10n/bundle.l10n.de.json",
    "extension/media/activity.svg",
    "extension/media/icon.png",
    "extension/media/walkthrough/key.md",
    "extension/media/walkthrough/key.nls.de.md",
    "extension/media/walkthrough/model.md",
    "extension/media/walkthrough/model.nls.de.md",
    "extension/media/walkthrough/server.md",
    "extension/media/walkthrough/server.nls.de.md",
    "extension/media/walkthrough/trust.md",
    "extension/media/walkthrough/trust.nls.de.md",
    "extension/package.json",
    "extension/package.nls.de.json",
    "extension/package.nls.json",
    "extension/readme.md",
  ]);
  expect(published.bytes).toBeLessThan(MAX_BYTES);
  for (const text of published.files.values()) expect(text).not.toContain("sourceMappingURL=");
});

test("its manifest says where it comes from, and asks for nothing that only VS Code allows", () => {
  const manifest = JSON.parse(file("package.json")) as Record<string, unknown>;
  expect(manifest).toMatchObject({
    publisher: "agent-ls",
    license: "MIT",
    icon: "media/icon.png",
    repository: { type: "git", url: `${REPOSITORY}.git`, directory: "vscode-client" },
    bugs: { url: `${REPOSITORY}/issues` },
    homepage: `${REPOSITORY}#readme`,
  });
  for (const name of ["private", "enabledApiProposals", "scripts", "devDependencies"]) {
    expect(manifest).not.toHaveProperty(name);
  }
  expect(file("changelog.md")).toContain("# Changelog");
});

test("its pictures have whole addresses, and are in the repository", () => {
  const pictures = [...file("readme.md").matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map((one) => one[1]);
  expect(pictures.length).toBeGreaterThan(0);
  for (const address of pictures) {
    const base = `${REPOSITORY}/raw/HEAD/`;
    expect(address?.startsWith(base)).toBe(true);
    const picture = readFileSync(join(here, "..", address?.slice(base.length) ?? ""));
    expect(picture.subarray(1, 4).toString()).toBe("PNG");
  }
});

test("without the repository's address nothing is invented, and no picture is broken", () => {
  const { files } = packed("local.vsix", "");
  const manifest = JSON.parse(files.get("extension/package.json") ?? "") as object;
  expect(manifest).not.toHaveProperty("repository");
  expect(files.get("extension/readme.md")).not.toContain("![");
  expect(files.get("extension/readme.md")).toContain("# Agent LS");
}, 60_000);
