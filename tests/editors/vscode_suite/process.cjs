// The server's process: what it is told at the start, and what becomes of one that fails.
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { agent, server } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows } = agent({ screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'prices.py'));
  const traffic = path.join(process.env.TMPDIR, 'traffic');
  const settings = () => vscode.workspace.getConfiguration('agent-ls');
  const set = (name, value) => settings().update(name, value, vscode.ConfigurationTarget.Global);
  /** What the client has written to the server: the bodies of its messages. */
  const messages = () => fs.readFileSync(traffic, 'utf8').split(/Content-Length: \d+\r\n\r\n/)
    .filter(Boolean).flatMap((text) => {
      try {
        return [JSON.parse(text)];
      } catch {
        return []; // It is being written.
      }
    });

  await step('a server that dies at its start is told with its last words', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await set('serverCommand', ['/bin/sh', '-c', 'echo The store is broken. >&2; exit 3']);
    await shows('ended with exit code 3. Its last words: The store is broken.', '.banner.failed');
    await screen.shot({ name: '1-died' });
  });
  await step('another command line starts another server', async () => {
    const line = `tee '${traffic}' | '${process.env.RIGHT_PYTHON}' -P -m agent_ls serve "$@"`;
    await set('serverCommand', ['/bin/sh', '-c', line, 'sh']);
    await shows('What shall we change?');
  });
  await step('it is told who we are, and asked for our own messages', async () => {
    const { params } = messages().find((one) => one.method === 'initialize');
    const told = [params.initializationOptions.agent, params.capabilities.experimental.agent];
    if (told.some((one) => one.version !== 1)) throw new Error(JSON.stringify(told));
  });
  await step('it hears of no setting that is the client\'s own', async () => {
    const answers = () => messages().filter((one) => Array.isArray(one.result) && one.result.length === 1);
    const [answer] = await until(() => answers().length && answers(), 'the answer');
    const known = Object.keys(answer.result[0]);
    if (known.some((one) => /python|serverCommand|trace|model|mode/.test(one))) throw new Error(`${known}`);
  });
  await step('every document is opened with it, whatever its language', async () => {
    const untitled = await vscode.workspace.openTextDocument({ content: 'x', language: 'plaintext' });
    await vscode.window.showTextDocument(untitled);
    await vscode.window.showTextDocument(uri);
    const opened = () => messages().filter((one) => one.method === 'textDocument/didOpen')
      .map((one) => one.params.textDocument.uri);
    await until(() => opened().some((one) => one.startsWith('untitled:')) && opened().includes(uri.toString()), 'didOpen');
  });
  await step('it hears what other language servers say, once', async () => {
    const others = vscode.languages.createDiagnosticCollection('others');
    const place = new vscode.Range(4, 4, 4, 10);
    const one = new vscode.Diagnostic(place, 'Float in money.', vscode.DiagnosticSeverity.Warning);
    one.source = 'others';
    one.code = 'M1';
    const told = () => messages().filter((said) => said.method === 'agent/editorDiagnostics');
    others.set(uri, [one]);
    await until(() => told().length === 1, 'the diagnostic');
    const expected = JSON.stringify({
      uri: uri.toString(),
      diagnostics: [{
        line: 4, column: 4, endLine: 4, endColumn: 10,
        message: 'Float in money.', source: 'others', code: 'M1', severity: 'warning',
      }],
    });
    const [first] = told();
    if (JSON.stringify(first.params) !== expected) throw new Error(JSON.stringify(first.params));
    others.set(uri, [one]);
    others.clear();
    await until(() => told().length === 2, 'the end of the diagnostic');
    if (told()[1].params.diagnostics.length) throw new Error(JSON.stringify(told()[1]));
    others.dispose();
  });
  await step('a server that keeps dying is not started for ever', async () => {
    const isUp = () => vscode.commands.executeCommand('agent-ls.session.list').then(() => true, () => false);
    let last = server();
    await set('serverCommand', []);
    for (let times = 0; times < 4; times += 1) {
      last = await until(() => server() !== last && server(), 'another server');
      await until(isUp, 'its answer');
      process.kill(last, 'SIGKILL');
      await until(() => server() !== last, 'its end');
    }
    await shows('The agent server ended with signal SIGKILL.', '.banner.failed');
    if (server()) throw new Error('there is still one');
    await screen.shot({ name: '2-gave-up' });
  });
  await step('the button starts it again', async () => {
    await panel('click', { selector: '.banner .primary' });
    await panel('wait', { selector: '.banner.failed', gone: true });
    await until(server, 'a server');
  });
};
