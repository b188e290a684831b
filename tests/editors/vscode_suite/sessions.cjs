// Sessions in a real VS Code: what a hidden panel keeps, a reload of the window in mid-turn, and several
// sessions at once. The reload ends this extension host: the file is run again, and goes on after it.
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { agent, server } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ screen });
  const reloaded = path.join(process.env.TMPDIR, 'reloaded');
  const look = (selector, code) => panel('evaluate', { selector, code });

  if (!fs.existsSync(reloaded)) {
    await step('a panel that was hidden has the same call open, and the reader where they were', async () => {
      await vscode.commands.executeCommand('agent-ls.openPanel');
      await shows('What shall we change?');
      await say('Read the prices.');
      await panel('wait', { selector: '.end .verb', text: 'Done' });
      await panel('click', { selector: '.call .line' });
      await look('.transcript', '(one) => { one.scrollTop = 40; }');
      await until(async () => (await look('.transcript', '(one) => one.dataset.end')) === 'false', 'the scroll');
      const top = await look('.call', '(one) => one.getBoundingClientRect().top');
      await new Promise((done) => setTimeout(done, 300));
      await vscode.commands.executeCommand('workbench.view.explorer');
      await until(async () => (await screen.texts({ selector: 'iframe.webview.ready' })).length === 0, 'no panel');
      await vscode.commands.executeCommand('agent-ls.openPanel');
      await panel('wait', { selector: '.call .line[aria-expanded="true"]' });
      const isThere = async () => Math.abs(await look('.call', '(one) => one.getBoundingClientRect().top') - top) < 3;
      await until(isThere, 'the place');
      await screen.shot({ name: '1-back' });
    });
    await step('an answer streams', async () => {
      await say('Tell me more.');
      await shows('The first half', '.answer');
    });
    fs.writeFileSync(reloaded, `${server()}`);
    void screen.reload().catch(() => {});
    await new Promise(() => {});
  }

  await step('a reloaded window shows the same session, half its answer, and Continue', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('The window closed here', '.cut-off');
    await shows('The first half', '.answer');
    await shows('Read the prices.', '.user');
    if (fs.readFileSync(reloaded, 'utf8') === `${server()}`) throw new Error('it is the same server');
    await screen.shot({ name: '2-reloaded' });
  });
  await step('nothing goes on by itself', async () => {
    await new Promise((done) => setTimeout(done, 1_500));
    const seen = await look('body', '(one) => one.querySelectorAll(".activity, .stop").length');
    if (seen !== 0) throw new Error(`${seen}`);
    await shows('The window closed here', '.cut-off');
  });
  await step('Continue goes on, and the new words are an answer of their own', async () => {
    await panel('click', { selector: '.cut-off button', text: 'Continue' });
    await shows('The second half.', '.answer');
    await panel('wait', { selector: '.cut-off', gone: true });
    const answers = await panel('texts', { selector: '.answer' });
    const [half, rest] = answers.slice(-2).map((one) => one.trim());
    if (!half.startsWith('The first half') || rest !== 'The second half.') throw new Error(answers.join('|'));
    await screen.shot({ name: '3-continued' });
  });
  await step('a session that waits behind another is seen, listed and opened', async () => {
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
    await say('Fetch it.');
    await panel('wait', { selector: '.approval h2' });
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
    await screen.wait({ selector: '.statusbar-item', text: 'Agent waits for you', limitMs: 20_000 });
    await vscode.commands.executeCommand('agent-ls.sessions.focus');
    await screen.wait({ selector: '.monaco-list-row', text: 'Waiting', limitMs: 20_000 });
    await screen.wait({ selector: '.monaco-list-row', text: 'Fetch it.', limitMs: 20_000 });
    await screen.wait({ selector: '.monaco-list-row', text: 'Read the prices.', limitMs: 20_000 });
    await screen.shot({ name: '4-sessions' });
    await screen.click({ selector: '.statusbar-item', text: 'Agent waits for you' });
    await shows('Fetch it.', '.user');
    await panel('wait', { selector: '.approval h2' });
  });
};
