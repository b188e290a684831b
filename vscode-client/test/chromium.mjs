// A page in a chromium of the PATH, served to it alone; what the page finds out comes back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LIMIT_MS = 10 * 60_000;
const KINDS = { html: "text/html", js: "text/javascript", css: "text/css" };

/**
 * Open `/` of these pages and return what a page posts to `/done` as JSON.
 *
 * `pages` holds a text by its path, `files` the path of a file by the path it is served under.
 */
export async function visit({ pages, files, flags = [] }) {
  const done = {};
  done.promise = new Promise((resolve, reject) => Object.assign(done, { resolve, reject }));
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path === "/done") {
      let text = "";
      for await (const part of request) text += part;
      response.end();
      done.resolve(JSON.parse(text));
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
    [
      ...[
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=400,800",
      ],
      ...[`--user-data-dir=${profile}`, "--remote-debugging-port=0", ...flags],
      `http://127.0.0.1:${server.address().port}/`,
    ],
    { stdio: "ignore" },
  );
  browser.on("error", done.reject);
  const limit = setTimeout(() => done.reject(new Error("The page took too long.")), LIMIT_MS);
  try {
    return await done.promise;
  } finally {
    clearTimeout(limit);
    browser.kill();
    await once(browser, "exit").catch(() => {});
    server.close();
    server.closeAllConnections();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
