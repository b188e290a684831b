// A page in a chromium of the PATH, served to it alone; what the page finds out comes back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LIMIT_MS = 10 * 60_000;
const KINDS = { html: "text/html", js: "text/javascript", css: "text/css" };
const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"],
  ...["--disable-extensions", "--disable-background-networking", "--disable-component-update"],
];

/**
 * Open pages of these, one after the other; `use` gets what opens one.
 *
 * `pages` holds a text by its path, `files` the path of a file by the path it is served under. What
 * opens a path returns what its page posts to `/done` as JSON, and `shoot`, which gives the page as
 * a PNG of the window's size.
 */
export async function browse({ pages, files, flags = [] }, use) {
  let done = () => {};
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path === "/done") {
      let text = "";
      for await (const part of request) text += part;
      response.end();
      done(JSON.parse(text));
      return;
    }
    const content = pages[path] ?? (files[path] && readFileSync(files[path]));
    const kind = KINDS[path.split(".").at(-1)] ?? "text/html";
    response.writeHead(content === undefined ? 404 : 200, {
      "content-type": `${kind}; charset=utf-8`,
    });
    response.end(content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const profile = mkdtempSync(join(tmpdir(), "panel-"));
  const browser = spawn(
    "chromium",
    [...FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-pipe", ...flags, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
  );
  const failed = new Promise((_, reject) => {
    browser.on("error", reject);
    browser.on("exit", () => reject(new Error("The browser has ended.")));
  });
  let limit;
  const within = (one) => {
    clearTimeout(limit);
    const late = new Promise((_, reject) => {
      limit = setTimeout(() => reject(new Error("The page took too long.")), LIMIT_MS);
    });
    return Promise.race([one, failed, late]);
  };
  try {
    const command = await within(firstPage(browser));
    return await use(async (path, [width, height] = [400, 800]) => {
      const size = { width, height, deviceScaleFactor: 1, mobile: false };
      await within(command("Emulation.setDeviceMetricsOverride", size));
      const found = new Promise((resolve) => (done = resolve));
      const url = `http://127.0.0.1:${server.address().port}${path}`;
      await within(command("Page.navigate", { url }));
      const shoot = async () => {
        const { data } = await within(command("Page.captureScreenshot", { format: "png" }));
        return Buffer.from(data, "base64");
      };
      return { found: await within(found), shoot };
    });
  } finally {
    clearTimeout(limit);
    failed.catch(() => {});
    browser.kill();
    if (browser.pid && browser.exitCode === null) await once(browser, "exit").catch(() => {});
    server.close();
    server.closeAllConnections();
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    } catch (error) {
      // Its children may write for a while yet: a folder for temporary files may stay.
      process.stderr.write(`${error.message}\n`);
    }
  }
}

/** What a page at `/` posts to `/done`; the rest is as for `browse`. */
export async function visit(site) {
  return browse(site, async (open) => (await open("/")).found);
}

/** How to command the browser's first page, in the words of its debugging protocol. */
async function firstPage(browser) {
  const [, , , input, output] = browser.stdio;
  const waiting = new Map();
  let [lastId, rest] = [0, ""];
  output.setEncoding("utf8");
  output.on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const { id, result, error } of messages.map((one) => JSON.parse(one))) {
      const told = waiting.get(id);
      waiting.delete(id);
      if (error) told?.reject(new Error(error.message));
      else told?.resolve(result);
    }
  });
  const command = (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      waiting.set(++lastId, { resolve, reject });
      input.write(`${JSON.stringify({ id: lastId, method, params, sessionId })}\0`);
    });
  const { targetInfos } = await command("Target.getTargets");
  const { targetId } =
    targetInfos.find(({ type }) => type === "page") ??
    (await command("Target.createTarget", { url: "about:blank" }));
  const { sessionId } = await command("Target.attachToTarget", { targetId, flatten: true });
  return (method, params) => command(method, params, sessionId);
}
