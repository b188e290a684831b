// A real VS Code workbench in a headless browser, with a test that runs inside its extension host.
//
//   node vscode_host.mjs SPEC.json      the fields of the spec are those of `_spec` in vscode.py
//
// Starts code-server and the browser, opens the workspace, serves what the test that `vscode_driver`
// runs asks of the screen, and writes the report.  All it started is dead when it ends.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';

const spec = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { chromium } = createRequire(spec.places.codeServer)('playwright-core');
const deadline = Date.now() + spec.limitMs;
const left = () => Math.max(1, deadline - Date.now());
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const report = { version: null, steps: [], error: null, shots: [], console: [], outside: [] };
let server, browser, page;

async function freePort() {
  const socket = net.createServer();
  await new Promise((done) => socket.listen(0, '127.0.0.1', done));
  const { port } = socket.address();
  await new Promise((done) => socket.close(done));
  return port;
}

function answers(port) {
  return new Promise((done) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/healthz' }, (reply) => {
      reply.resume();
      done(reply.statusCode === 200);
    });
    request.on('error', () => done(false));
  });
}

async function startCodeServer(port) {
  const home = (name) => path.join(spec.home, name);
  const output = fs.openSync(home('code-server.log'), 'w');
  const trust = spec.trustAsked ? [] : ['--disable-workspace-trust'];
  server = spawn(
    process.execPath,
    [
      spec.places.codeServer, '--config', home('code-server.yaml'), '--user-data-dir', home('user'),
      '--extensions-dir', home('extensions'), '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`,
      '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', ...trust,
    ],
    { stdio: ['ignore', output, output], env: process.env },
  );
  fs.closeSync(output);
  let ended = null;
  server.on('exit', (code, signal) => { ended = `code-server ended with ${signal ?? code}`; });
  while (!(await answers(port))) {
    if (ended || left() === 1) {
      throw new Error(`${ended ?? 'code-server does not answer'}:\n${fs.readFileSync(home('code-server.log'), 'utf8')}`);
    }
    await pause(100);
  }
}

async function openBrowser() {
  browser = await chromium.launchPersistentContext(path.join(spec.home, 'browser'), {
    executablePath: spec.places.browser,
    viewport: spec.viewport,
    // The browser refuses its sandbox to root, and a test machine has no business on the network.
    chromiumSandbox: process.getuid() !== 0,
    args: [
      '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
  page = browser.pages()[0] ?? await browser.newPage();
  page.on('console', (message) => report.console.push(`${message.type()}: ${message.text().replace(/%c|color: #\w+/g, '')}`.slice(0, 2000)));
  page.on('pageerror', (error) => report.console.push(`pageerror: ${error.stack ?? error}`.slice(0, 2000)));
  browser.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isOutside = /^(https?|wss?):$/.test(protocol) && !/^(127\.0\.0\.1|localhost)$/.test(hostname);
    if (isOutside && !report.outside.includes(hostname)) report.outside.push(hostname);
  });
}

// Where a selector is looked up: in the workbench, or in the n-th visible webview.
function scope({ panel }) {
  if (panel === undefined || panel === null || panel === false) return page;
  const outer = page.locator('iframe.webview.ready').nth(panel === true ? 0 : panel);
  return outer.contentFrame().locator('iframe#active-frame').contentFrame();
}

function find(wanted) {
  const all = scope(wanted).locator(wanted.selector ?? 'body');
  return wanted.text === undefined ? all : all.filter({ hasText: wanted.text });
}

// What the test inside may ask of the screen; every answer is plain JSON.
const screen = {
  async shot({ name }) {
    await pause(400); // what slides in has come to rest
    const file = path.join(spec.shots, `${name}.png`);
    await page.screenshot({ path: file });
    report.shots.push(file);
    return file;
  },
  press: ({ keys }) => page.keyboard.press(keys),
  type: ({ words }) => page.keyboard.type(words),
  click: (wanted) => find(wanted).first().click({ timeout: wanted.limitMs ?? 10_000 }),
  fill: (wanted) => find(wanted).first().fill(wanted.words, { timeout: wanted.limitMs ?? 10_000 }),
  wait: (wanted) => find(wanted).first().waitFor({
    state: wanted.gone ? 'detached' : 'visible', timeout: wanted.limitMs ?? 10_000,
  }),
  texts: (wanted) => find(wanted).allInnerTexts(),
  // `code` is the source of a function of the first element that was found.  It is built here,
  // because the content security policy of a webview lets nothing be built in there.
  evaluate: (wanted) => find(wanted).first().evaluate(
    new Function('element', `return (${wanted.code})(element);`)),
  resize: ({ width, height }) => page.setViewportSize({ width, height }),
  reload: () => page.reload(),
};

// The test inside the extension host reaches us over loopback; `end` carries its report.
async function serveScreen() {
  let finish;
  const finished = new Promise((done) => { finish = done; });
  const listener = http.createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const words = body ? JSON.parse(body) : {};
    const [, key, name] = request.url.split('/');
    let answer;
    try {
      if (key !== spec.key) throw new Error('wrong key');
      if (name === 'begin') { report.version = words.version; answer = null; }
      else if (name === 'step') { report.steps.push(words); answer = null; }
      else if (name === 'end') { report.error = words.error; answer = null; finish(); }
      else if (Object.hasOwn(screen, name)) answer = (await screen[name](words)) ?? null;
      else throw new Error(`the screen cannot ${name}`);
      reply.writeHead(200).end(JSON.stringify(answer));
    } catch (error) {
      reply.writeHead(500).end(JSON.stringify(String(error.message ?? error)));
    }
  });
  await new Promise((done) => listener.listen(spec.screenPort, '127.0.0.1', done));
  return { finished, listener };
}

async function main() {
  const port = await freePort();
  spec.screenPort = await freePort();
  process.env.EDITOR_TEST_SCREEN = `http://127.0.0.1:${spec.screenPort}/${spec.key}`;
  process.env.EDITOR_TEST_FILE = spec.test;
  const { finished, listener } = await serveScreen();
  await Promise.all([startCodeServer(port), openBrowser()]);
  const remote = (file) => `vscode-remote://127.0.0.1:${port}${file}`;
  const payload = spec.open ? [['openFile', remote(spec.open)]] : [];
  const query = new URLSearchParams({ folder: spec.workspace, payload: JSON.stringify(payload) });
  await page.goto(`http://127.0.0.1:${port}/?${query}`);
  const late = pause(left()).then(() => {
    throw new Error(`the test inside the extension host did not end within ${spec.limitMs / 1000} s`);
  });
  await Promise.race([finished, late]);
  listener.close();
}

async function tidyUp() {
  if (page && (report.error || report.steps.some((step) => step.error))) {
    const file = path.join(spec.shots, 'failure.png');
    await page.screenshot({ path: file, timeout: 5000 }).then(() => report.shots.push(file), () => {});
  }
  await browser?.close().catch(() => {});
  server?.kill('SIGTERM');
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => tidyUp().finally(() => process.exit(1)));
}
try {
  await main();
} catch (error) {
  report.error = String(error.stack ?? error);
} finally {
  await tidyUp();
}
fs.writeFileSync(path.join(spec.home, 'report.json'), JSON.stringify(report));
process.exit(0);
