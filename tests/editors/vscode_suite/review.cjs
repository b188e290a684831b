// The agent's changes in a real VS Code: lenses, keeping and undoing with the keyboard, the list in
// the panel with its buttons and the editor's own diff.
const path = require('node:path');
const vscode = require('vscode');
const { agent, choose } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, say } = agent({ until, screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'prices.py'));
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document);
  const before = document.getText();
  const lenses = async () => (await vscode.commands.executeCommand('vscode.executeCodeLensProvider', uri, 99))
    .map((one) => `${one.range.start.line}: ${one.command?.title}`);
  const goTo = async (word) => {
    const at = document.positionAt(document.getText().indexOf(word));
    const shown = await vscode.window.showTextDocument(document);
    shown.selection = new vscode.Selection(at, at);
    await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
  };
  const menu = async (...keys) => {
    // The workbench closes a menu whose actions change while it opens; a user presses again.
    const offered = { selector: '.action-widget', text: 'Agent: keep this change' };
    await screen.wait({ selector: '.editor-instance .monaco-editor.focused' });
    await screen.press({ keys: 'Control+.' });
    await screen.wait(offered).catch(async () => {
      await screen.press({ keys: 'Control+.' });
      await screen.wait(offered);
    });
    for (const one of keys) await screen.press({ keys: one });
  };

  await step('the agent changes two places', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await panel('wait', { selector: '.composer textarea' });
    await choose(until, 'accept-edits');
    await say('Change it.');
    await panel('wait', { selector: '.changes .line', text: '2 changes' });
    await until(() => document.getText().includes('whole ='), 'the edit');
    await panel('wait', { selector: '.end .verb', text: 'Done' });
  });
  await step('the changes follow what is typed above them', async () => {
    await editor.edit((one) => one.insert(new vscode.Position(0, 0), '# mine\n'));
    await until(async () => (await lenses()).includes('1: Keep +1 -1'), 'the lens');
    await until(async () => (await lenses()).includes('5: Keep +2 -1'), 'the other lens');
  });
  await step('lenses tell of them, so there are no hints besides', async () => {
    await screen.shot({ name: 'changed' });
    const hints = vscode.languages.getDiagnostics(uri).filter((one) => one.code === 'agent-change');
    if (hints.length) throw new Error(JSON.stringify(hints));
  });
  await step('the changes are drawn in the text and counted', async () => {
    await goTo('# money');
    await screen.wait({ selector: '.statusbar-item', text: '1 of 2' });
    await screen.wait({ selector: '.editor-actions a[aria-label^="Keep the Change Here"]' });
    const tinted = await screen.evaluate({ selector: '.view-overlays', code:
      '(one) => one.querySelectorAll("[class*=ced-]").length' });
    if (!tinted) throw new Error('no line is tinted');
    await goTo('whole =');
    await screen.wait({ selector: '.statusbar-item', text: '2 of 2' });
    await screen.shot({ name: 'drawn' });
  });
  await step('the lines that went are shown inset by key', async () => {
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: '-' });
    await screen.wait({ selector: '.peekview-widget', text: 'return round' });
    await screen.shot({ name: 'peek' });
    await screen.press({ keys: 'Escape' });
    await screen.wait({ selector: '.peekview-widget', gone: true });
  });
  await step('a key away from the changes goes to one, and decides nothing', async () => {
    await goTo('def ');
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: 'Backspace' });
    await until(() => vscode.window.activeTextEditor.selection.active.line === 5, 'the next change');
    if (!document.getText().includes('whole =')) throw new Error(document.getText());
  });
  await step('a turn is shown in one diff editor', async () => {
    await vscode.commands.executeCommand('agent-ls.showChanges');
    await until(() => vscode.window.tabGroups.activeTabGroup.activeTab?.label.startsWith('Agent: Change it.'), 'the tab');
    await screen.wait({ selector: '.multiDiffEntry', text: 'prices.py' });
    await screen.shot({ name: 'turn-diff' });
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });
  await step('the first is kept with the keyboard', async () => {
    await goTo('# money');
    await menu('Enter');
    await panel('wait', { selector: '.changes .line', text: '1 change' });
    if (!document.getText().includes('# money')) throw new Error(document.getText());
  });
  await step('the other is undone with the keyboard', async () => {
    await goTo('whole =');
    await menu('ArrowDown', 'Enter');
    await until(() => !document.getText().includes('whole'), 'the undone change');
    const wanted = `# mine\n${before.replace('import Decimal\n', 'import Decimal  # money\n')}`;
    if (document.getText() !== wanted) throw new Error(document.getText());
    await panel('wait', { selector: '.changes', gone: true });
  });
  await step('an undo is taken back, and the panel undoes it again', async () => {
    await vscode.commands.executeCommand('agent-ls.review.redo');
    await until(() => document.getText().includes('whole ='), 'the change again');
    await panel('wait', { selector: '.changes .line', text: '1 change' });
    await panel('click', { selector: '.changes .line' });
    await panel('click', { selector: '[aria-label="Undo prices.py"]' });
    await until(() => !document.getText().includes('whole'), 'the undone change');
    await panel('wait', { selector: '.undone', text: '1 change undone' });
  });
  await step('the next change is gone to by key', async () => {
    await panel('click', { selector: '[aria-label="Redo what was undone"]' });
    await until(() => document.getText().includes('whole ='), 'the change again');
    // The text is there a moment before the server has noted that the change is open again.
    await panel('wait', { selector: '.changes .line', text: '1 change' });
    await goTo('# mine');
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: '.' });
    await until(() => vscode.window.activeTextEditor.selection.active.line === 5, 'the cursor at the change');
  });
  await step('the list in the panel follows what is typed, and keys undo the change at the cursor', async () => {
    await panel('click', { selector: '.changes .line' });
    await panel('wait', { selector: '.changes .line-number', text: '6' });
    await (await vscode.window.showTextDocument(document)).edit((one) => one.insert(new vscode.Position(0, 0), '# more\n'));
    await panel('wait', { selector: '.changes .line-number', text: '7' });
    await vscode.window.activeTextEditor.edit((one) => one.delete(new vscode.Range(0, 0, 1, 0)));
    await goTo('whole =');
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: 'Backspace' });
    await until(() => !document.getText().includes('whole'), 'the undone change');
    await panel('click', { selector: '[aria-label="Redo what was undone"]' });
    await until(() => document.getText().includes('whole ='), 'the change again');
  });
  const notes = vscode.Uri.file(path.join(folder, 'notes.md'));
  const isThere = async (file) => vscode.workspace.fs.stat(file).then(() => true, () => false);
  const told = async () => (await panel('texts', { selector: '.restoring h2, .restoring li' })).map((one) => one.trim());
  const button = { selector: '.call .restore', text: 'before Write notes.md' };
  const retype = (old, words) => {
    const at = document.positionAt(document.getText().indexOf(old));
    const edit = new vscode.WorkspaceEdit();
    edit.replace(uri, new vscode.Range(at, at.translate(0, old.length)), words);
    return vscode.workspace.applyEdit(edit);
  };
  await step('what a restore would come to is told at the card of the change', async () => {
    await say('Go on.');
    await panel('wait', button);
    await retype('cents', 'cents, mine');
    await panel('evaluate', { ...button, code: '(one) => one.focus()' });
    await screen.press({ keys: 'Enter' });
    await panel('wait', { selector: '.restoring h2', text: 'Restore 1 file to before this change?' });
    const shown = (await told()).join('\n');
    if (!/notes\.md is deleted/.test(shown)) throw new Error(shown);
    if (!/prices\.py stays as it is: these lines were changed since/.test(shown)) throw new Error(shown);
    await screen.shot({ name: 'restore-conflict' });
    await screen.press({ keys: 'Tab' });
    await screen.press({ keys: 'Enter' });
    await until(() => vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputTextDiff, 'both versions');
    const { modified } = vscode.window.tabGroups.activeTabGroup.activeTab.input;
    const other = await vscode.workspace.openTextDocument(modified);
    if (other.getText().includes('cents')) throw new Error(other.getText());
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    await panel('click', { selector: '.restoring button', text: 'Cancel' });
    await panel('wait', { selector: '.restoring', gone: true });
    if (!(await isThere(notes))) throw new Error('the file went without a yes');
  });
  await step('files are restored to before the change by keyboard, and what came of it stays there', async () => {
    await retype('cents, mine', 'cents');
    await retype('# mine', '# mine, too');
    await panel('evaluate', { ...button, code: '(one) => one.focus()' });
    await screen.press({ keys: 'Enter' });
    await panel('wait', { selector: '.restoring h2', text: 'Restore 2 files to before this change?' });
    await screen.shot({ name: 'restore-asks' });
    await screen.press({ keys: 'Tab' });
    await screen.press({ keys: 'Enter' });
    await panel('wait', { selector: '.restoring h2', text: '2 files restored to before this change' });
    await until(() => !document.getText().includes('cents'), 'the text from before');
    if (await isThere(notes)) throw new Error('the new file is still there');
    const text = document.getText();
    if (!text.includes('# mine, too') || !text.includes('whole =')) throw new Error(text);
    await until(async () => (await lenses()).includes('5: Keep +2 -1'), 'the lens of what is left');
    await screen.wait({ selector: '.codelens-decoration', text: 'Keep +2 -1' });
    await screen.shot({ name: 'restored' });
    await panel('click', { selector: '.restoring button', text: 'Close' });
    await panel('wait', { selector: '.restored', text: 'Files were restored to before this change' });
  });
  await step('what is left of an earlier conversation can be decided about in a new one', async () => {
    await vscode.commands.executeCommand('agent-ls.newSession');
    await panel('wait', { selector: '.welcome h1' });
    await panel('wait', { selector: '.changes .line', text: '1 change' });
    await goTo('whole =');
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: 'Backspace' });
    await until(() => !document.getText().includes('whole'), 'the undone change');
    await panel('wait', { selector: '.changes', gone: true });
  });
};
