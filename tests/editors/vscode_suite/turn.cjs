// The main job in a real VS Code: a prompt in the panel, edits in the open document, approvals by
// button and by code action, the checkers' findings, and an end that a reload of the panel survives.
const path = require('node:path');
const vscode = require('vscode');
const { agent } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ until, screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'prices.py'));
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  const findings = () => vscode.languages.getDiagnostics(uri).filter((one) => /ruff/.test(one.source));

  await step('the server starts and the panel greets', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('What shall we change?');
    await screen.shot({ name: '1-welcome' });
  });
  await step('a prompt streams and its first edit asks', async () => {
    await say('Round prices properly.');
    await shows('The rounding is binary.', '.answer');
    await panel('wait', { selector: '.approval h2', text: 'prices.py' });
    const rows = await panel('texts', { selector: '.payload .row' });
    if (!rows.some((row) => row.startsWith('+') && row.includes('quantize'))) throw new Error(rows.join('\n'));
    await screen.shot({ name: '2-approval' });
  });
  await step('Escape outside of the prompt stops nothing, and a chord types nothing', async () => {
    await panel('click', { selector: '.payload' });
    await screen.press({ keys: 'Escape' });
    await panel('click', { selector: '.composer textarea' });
    for (const keys of ['Control+K', 'Escape', 'Control+K', 'x']) await screen.press({ keys });
    await panel('wait', { selector: '.approval h2', text: 'prices.py' });
    const typed = await panel('evaluate', { selector: '.composer textarea', code: '(area) => area.value' });
    if (typed) throw new Error(`typed: ${typed}`);
  });
  await step('nothing is changed before the answer', async () => {
    if (document.isDirty) throw new Error(document.getText());
  });
  await step('the button allows it, and the edit lands in the open document', async () => {
    await panel('click', { selector: '.approval .primary' });
    await until(() => document.getText().includes('quantize'), 'the edit');
  });
  await step('a finding of ruff is a diagnostic of the document', async () => {
    await until(() => findings().some((one) => /CENT/.test(one.message)), 'the finding');
    await shows('1 problem', '.note .verb');
  });
  await step('the next approval is answered by a code action', async () => {
    const offered = () => vscode.commands.executeCommand(
      'vscode.executeCodeActionProvider', uri, new vscode.Range(0, 0, document.lineCount, 0));
    const allow = await until(
      async () => (await offered()).find((one) => /^Agent: Allow once/.test(one.title)), 'the action');
    await screen.shot({ name: '3-code-action' });
    const { command, arguments: words } = allow.command;
    await vscode.commands.executeCommand(command, ...(words ?? []));
    await until(() => document.getText().includes('CENT ='), 'the second edit');
    await panel('wait', { selector: '.approval', gone: true });
  });
  await step('the checks pass and the turn ends with what it changed', async () => {
    await until(() => findings().length === 0, 'a clean document');
    await shows('Done', '.end .verb');
    await panel('wait', { selector: '.end .file', text: 'prices.py' });
    await screen.shot({ name: '4-done' });
  });
  await step('a block of code has one background, and no line of it another', async () => {
    const seen = await panel('evaluate', { selector: '.code pre code', code:
      '(one) => getComputedStyle(one).backgroundColor' });
    if (seen !== 'rgba(0, 0, 0, 0)') throw new Error(seen);
  });
  await step('the edits are the editor\'s own: undo takes them back', async () => {
    await vscode.window.showTextDocument(document);
    for (let times = 0; times < 9 && document.getText().includes('quantize'); times += 1) {
      await vscode.commands.executeCommand('undo');
    }
    if (document.getText().includes('quantize')) throw new Error(document.getText());
  });
  await step('a panel that was closed shows the session again', async () => {
    await vscode.commands.executeCommand('workbench.view.explorer');
    await until(async () => (await screen.texts({ selector: 'iframe.webview.ready' })).length === 0, 'no panel');
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('Done', '.end .verb');
    await shows('The rounding is binary.', '.answer');
  });
  await step('a running turn is stopped by Escape from an empty prompt, at its second press', async () => {
    await say('Wait for ever.');
    await shows('This answer', '.answer');
    for (const words of ['First this.', 'Then that.']) {
      await panel('fill', { selector: '.composer textarea', words });
      await screen.press({ keys: 'Alt+Enter' });
      await panel('wait', { selector: '.queue li', text: words });
    }
    await panel('fill', { selector: '.composer textarea', words: 'Half a thou' });
    for (const keys of ['Escape', 'Escape']) await screen.press({ keys });
    await shows('only from an empty prompt', '.hint');
    await panel('fill', { selector: '.composer textarea', words: '' });
    await screen.press({ keys: 'Escape' });
    await shows('Esc again stops the agent', '.hint');
    await screen.press({ keys: 'Escape' });
    await panel('wait', { selector: '.end.cancelled', text: 'Stopped' });
  });
  await step('what it had not got is a list that a closed panel keeps', async () => {
    const rows = () => panel('evaluate', { selector: '.unsent', code:
      '(one) => [...one.querySelectorAll("textarea")].map((row) => row.value)' });
    const expect = async (...texts) => {
      const seen = await rows();
      if (seen.join('|') !== texts.join('|')) throw new Error(seen.join('|'));
    };
    await expect('First this.', 'Then that.');
    await panel('fill', { selector: '.unsent textarea', words: 'First that.' });
    await panel('click', { selector: '.unsent .down' });
    await panel('fill', { selector: '.composer textarea', words: 'Half a thought' });
    await vscode.commands.executeCommand('workbench.view.explorer');
    await until(async () => (await screen.texts({ selector: 'iframe.webview.ready' })).length === 0, 'no panel');
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('2 prompts not sent', '.unsent');
    await expect('Then that.', 'First that.');
    const draft = await panel('evaluate', { selector: '.composer textarea', code: '(one) => one.value' });
    if (draft !== 'Half a thought') throw new Error(draft);
    await screen.shot({ name: '5-unsent' });
  });
  await step('every contributed command exists', async () => {
    const { contributes } = vscode.extensions.getExtension('agent-ls.agent-ls').packageJSON;
    const known = new Set(await vscode.commands.getCommands(true));
    const missing = contributes.commands.filter(({ command }) => !known.has(command));
    if (missing.length) throw new Error(JSON.stringify(missing));
  });
  await step('a new session begins empty', async () => {
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
  });
};
