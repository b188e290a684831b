// How the client behaves when things are not as they should be: no server, hostile text, unsaved
// changes, a server that dies; and that the keyboard alone will do.
const fs = require('node:fs/promises');
const path = require('node:path');
const vscode = require('vscode');
const { agent, server } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'prices.py'));

  await step('a server that cannot start is said in the panel, with what to do', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('agent-ls.python names /nowhere/python', '.setup');
    await shows('Correct the setting', '.setup');
    await screen.shot({ name: '1-no-server' });
  });
  await step('a prompt is not lost while it does not run', async () => {
    await panel('fill', { selector: '.composer textarea', words: 'Show me the docs.' });
    await screen.press({ keys: 'Enter' });
    await shows('1 prompt not sent', '.unsent');
    const unsent = await panel('evaluate', { selector: '.unsent textarea', code: '(one) => one.value' });
    if (unsent !== 'Show me the docs.') throw new Error(unsent);
  });
  await step('the corrected setting starts it', async () => {
    const settings = vscode.workspace.getConfiguration('agent-ls');
    await settings.update('python', process.env.RIGHT_PYTHON, vscode.ConfigurationTarget.Global);
    await panel('wait', { selector: '.setup', gone: true });
    await shows('What shall we change?');
  });
  await step('hostile text loads nothing', async () => {
    await panel('click', { selector: '.unsent .secondary', text: 'Send' });
    await panel('wait', { selector: '.end .verb', text: 'Done' });
    await shows('<script>', '.answer');
    const parts = await panel('evaluate', {
      selector: 'body',
      code: '(one) => [one.querySelectorAll("img, iframe, .answer script, a[href]").length]',
    });
    if (parts[0] !== 0) throw new Error(`${parts}`);
  });
  await step('a link asks first', async () => {
    await panel('click', { selector: '.answer a', text: 'the docs' });
    const asked = { selector: '.monaco-dialog-box', limitMs: 20_000 };
    await screen.wait({ ...asked, text: "Open this link from the agent's answer?" });
    await screen.shot({ name: '2-hostile' });
    await screen.press({ keys: 'Escape' });
    await screen.wait({ ...asked, gone: true });
  });
  await step('a link to a file of the workspace opens it at its line', async () => {
    await panel('click', { selector: '.answer a', text: 'here' });
    const editor = await until(() => vscode.window.activeTextEditor, 'the file');
    await until(() => editor.selection.active.line === 1, 'the line');
  });
  await step('unsaved changes are saved before a command reads the disk', async () => {
    const document = await vscode.workspace.openTextDocument(uri);
    const edit = new vscode.WorkspaceEdit();
    edit.insert(uri, new vscode.Position(0, 0), 'CENTS = 100\n');
    await vscode.workspace.applyEdit(edit);
    if (!document.isDirty) throw new Error('the document should have unsaved changes');
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
    await say('Run it.');
    await panel('wait', { selector: '.approval .payload', text: 'cat prices.py' });
  });
  await step('what waits is allowed with two keys, from the editor', async () => {
    await vscode.window.showTextDocument(uri);
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: 'y' });
    await panel('wait', { selector: '.approval', gone: true });
  });
  await step('a running turn is steered, and its output seen', async () => {
    await shows('CENTS = 100', '.live');
    await panel('fill', { selector: '.composer textarea', words: 'Say it in Latin.' });
    await panel('click', { selector: 'button.send' });
    await shows('Say it in Latin.', '.queue');
    // The server has them: only now may the command end.
    await fs.writeFile(path.join(folder, 'steered'), '');
    await shows('Factum est.', '.answer');
    await panel('wait', { selector: '.user.steer', text: 'Say it in Latin.' });
    const document = await vscode.workspace.openTextDocument(uri);
    if (document.isDirty) throw new Error('the document should have been saved');
    await screen.shot({ name: '3-steered' });
  });
  await step('a long payload is allowed by button or key only after its end was on the screen', async () => {
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
    await say('Run it long.');
    await panel('wait', { selector: '.approval .primary[aria-disabled="true"]' });
    await shows('Read to the end first', '.approval');
    for (const keys of ['Control+k', 'y']) await screen.press({ keys });
    await panel('wait', { selector: '.approval .payload:focus' });
    await panel('wait', { selector: '.approval .primary[aria-disabled="true"]' });
    await screen.shot({ name: '4-unread' });
    await screen.press({ keys: 'End' });
    await panel('wait', { selector: '.approval .primary[aria-disabled="false"]' });
    for (const keys of ['Control+k', 'y']) await screen.press({ keys });
    await shows('It ran.', '.answer');
  });
  await step('a server that dies comes back with the session, and goes on', async () => {
    await vscode.commands.executeCommand('agent-ls.newSession');
    await shows('What shall we change?');
    await say('Survive.');
    await shows('This answer', '.answer');
    const first = server();
    process.kill(first, 'SIGKILL');
    await shows('Went on after the crash.', '.answer');
    await shows('Went on after the server had ended', '.note');
    await shows('Survive.', '.user');
    if (server() === first) throw new Error('the same process');
    await screen.shot({ name: '5-after-crash' });
  });
  await step('what the agent says reaches a screen reader', async () => {
    const said = await panel('texts', { selector: '[role="status"]' });
    if (!said.some((one) => one.includes('Went on after the crash.'))) throw new Error(said.join('|'));
  });
};
