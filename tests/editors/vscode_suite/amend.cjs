// A waiting edit is changed in a diff editor, and a waiting command in a document of its own, then run.
const path = require('node:path');
const vscode = require('vscode');
const { agent } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'prices.py'));
  const drafts = () => vscode.workspace.textDocuments.filter((one) => one.isUntitled && !one.isClosed);
  const change = async (from, to) => {
    const draft = await until(() => drafts().find((one) => one.getText().includes(from)), 'the draft');
    const at = draft.getText().indexOf(from);
    const range = new vscode.Range(draft.positionAt(at), draft.positionAt(at + from.length));
    const edit = new vscode.WorkspaceEdit();
    edit.replace(draft.uri, range, to);
    await vscode.workspace.applyEdit(edit);
  };
  const run = () => screen.click({ selector: '.editor-actions a[aria-label^="Run As Changed"]' });

  await step('an edit that waits opens as the file beside what the agent would write', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('What shall we change?');
    await say('Round the prices.');
    await panel('wait', { selector: '.approval h2', text: 'prices.py' });
    await panel('click', { selector: '.approval header .tool' });
    await screen.wait({ selector: '.tab', text: 'what the agent would write', limitMs: 40_000 });
    await screen.shot({ name: '1-diff' });
  });
  await step('what the user makes of it is what lands, and the draft is gone', async () => {
    await change('/ 100, 3)', '/ 100, 4)');
    await run();
    const text = async () => (await vscode.workspace.openTextDocument(uri)).getText();
    await until(async () => (await text()).includes('/ 100, 4)'), 'the edit');
    if ((await text()).includes('/ 100, 3)')) throw new Error(await text());
    await until(() => drafts().length === 0, 'a draft that stays');
  });
  await step('a command opens as itself, and runs as it was changed', async () => {
    await panel('wait', { selector: '.approval h2', text: 'Run' });
    await panel('click', { selector: '.approval header .tool' });
    await change('made-by-the-agent', 'made-by-the-user');
    await screen.shot({ name: '2-command' });
    await run();
    await shows('Done', '.end .verb');
    const names = (await vscode.workspace.fs.readDirectory(vscode.Uri.file(folder))).map(([name]) => name);
    if (!names.includes('made-by-the-user') || names.includes('made-by-the-agent')) throw new Error(names.join());
  });
  await step('what is no single text is changed in the panel', async () => {
    await say('Take the file away.');
    await panel('wait', { selector: '.approval h2', text: 'prices.py' });
    await panel('click', { selector: '.approval header .tool' });
    await panel('wait', { selector: 'textarea.amend' });
  });
};
