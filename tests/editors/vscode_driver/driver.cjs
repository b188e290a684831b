// An extension that runs a test inside the extension host: hands it its tools and reports how it went.
//
// A test is a CommonJS file that exports `run(t)`; `t` has
//   step(sentence, body)   one thing that is proved; a failure ends the test
//   until(ask, what, ms)   the first true answer of a function, asked again and again
//   screen                 the workbench from outside: see `screen` in vscode_host.mjs
const vscode = require('vscode');

async function call(name, words = {}) {
  const reply = await fetch(`${process.env.EDITOR_TEST_SCREEN}/${name}`, {
    method: 'POST', body: JSON.stringify(words),
  });
  const answer = JSON.parse(await reply.text());
  if (!reply.ok) throw new Error(answer);
  return answer;
}

const screen = new Proxy({}, { get: (_, name) => (words) => call(String(name), words) });

async function until(ask, what, limitMs = 40_000) {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

async function step(sentence, body) {
  const start = Date.now();
  let error = null;
  try {
    return await body();
  } catch (failure) {
    error = String(failure.stack ?? failure);
    throw failure;
  } finally {
    await call('step', { sentence, error, ms: Date.now() - start });
  }
}

async function run() {
  let error = null;
  await call('begin', { version: vscode.version });
  try {
    await require(process.env.EDITOR_TEST_FILE).run({ step, until, screen });
  } catch (failure) {
    error = String(failure.stack ?? failure);
  }
  await call('end', { error });
}

exports.activate = () => void run();
