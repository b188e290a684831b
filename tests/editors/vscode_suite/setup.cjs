// A new user's first minute: nothing runs until it is used, then four steps lead to the first prompt.
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { agent, server } = require('./user.cjs');

const KEY = 'sk-ant-hush-4711';
const MODEL = 'anthropic/claude-haiku-4-5';

exports.run = async ({ step, until, screen }) => {
  const { panel, shows } = agent({ screen });
  const rows = () => screen.texts({ selector: '.quick-input-list .monaco-list-row' });
  const state = async (name) => (await panel('texts', { selector: '.setting.done h2' }))
    .some((one) => one.startsWith(name));

  await step('a window where nobody uses the agent has no server', async () => {
    await until(() => vscode.extensions.getExtension('agent-ls.agent-ls').isActive, 'the extension');
    await new Promise((done) => setTimeout(done, 1500));
    if (server()) throw new Error('a server runs');
  });
  await step('the panel says what is missing, without a message', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('not installed on this machine', '.setting.current');
    const shown = await panel('evaluate', { selector: 'textarea', code: '(one) => one.placeholder' });
    if (shown !== 'Install the server first') throw new Error(shown);
    const toasts = await screen.texts({ selector: '.notification-toast' });
    if (toasts.length) throw new Error(toasts.join('|'));
    await screen.shot({ name: '1-nothing' });
  });
  await step('one click installs the server, and it runs', async () => {
    await panel('click', { selector: '.setup .primary', text: 'Install' });
    // Python unpacks pip first, which takes a busy machine its time.
    await panel('wait', { selector: '.setting.current', text: 'Choose…', limitMs: 150_000 });
    if (!(await state('Server'))) throw new Error('the server is not ticked off');
    await until(server, 'a server');
    await screen.shot({ name: '2-installed' });
  });
  await step('a model is chosen from the list, with its window and price', async () => {
    await panel('click', { selector: '.setup .primary', text: 'Choose…' });
    await until(async () => (await rows()).length > 2, 'the list');
    await screen.type({ words: MODEL });
    await until(async () => (await rows()).some((one) => one.includes('200k · $1/$5')), 'the row');
    await screen.shot({ name: '3-models' });
    await screen.press({ keys: 'Enter' });
    await shows('claude-haiku-4-5 · 200k · $1/$5', '.setting.done');
    const kept = () => vscode.workspace.getConfiguration('agent-ls').inspect('model').globalValue;
    await until(() => kept() === MODEL, 'the setting');
  });
  await step('the key reaches the server that starts, and nothing else', async () => {
    const before = server();
    await panel('fill', { selector: '.setup input[type="password"]', words: KEY });
    await panel('click', { selector: '.setup .primary', text: 'Save' });
    await shows('What shall we change?');
    await until(() => server() !== before && server(), 'another server');
    // The server hides its variables; what starts it has written down which key it was given.
    const given = fs.readFileSync(path.join(process.env.TMPDIR, 'given'), 'utf8');
    const wanted = crypto.createHash('sha256').update(KEY).digest('hex');
    if (given !== wanted) throw new Error('the server has another key, or none');
    const holding = [];
    const look = (folder) => {
      for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        const file = path.join(folder, entry.name);
        if (entry.isDirectory()) look(file);
        else if (entry.isFile() && fs.readFileSync(file).includes(KEY)) holding.push(file);
      }
    };
    for (const name of ['user', 'config', 'data', 'state']) {
      const folder = path.join(process.env.HOME, name);
      if (fs.existsSync(folder)) look(folder);
    }
    if (holding.length) throw new Error(`the key stands in ${holding}`);
    await screen.shot({ name: '4-ready' });
  });
  await step('the settings open with all of ours, in a remote window too', async () => {
    if (!vscode.env.remoteName) throw new Error('this is no remote window');
    await vscode.commands.executeCommand('agent-ls.openSettings');
    const names = () => screen.texts({ selector: '.settings-editor .setting-item-label' });
    const wanted = ['Server Command', 'Python', 'Model'];
    await until(async () => {
      const shown = (await names()).join('|');
      return wanted.every((name) => shown.includes(name));
    }, 'the settings');
    await screen.shot({ name: '5-settings' });
  });
};
