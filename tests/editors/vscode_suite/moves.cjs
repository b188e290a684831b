// Files that the user renames in a real VS Code's explorer, and files that change places: the
// review goes with them.
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { agent, choose } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, say } = agent({ until, screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const place = (name) => vscode.Uri.file(path.join(folder, name));
  const onDisk = (name) => (fs.existsSync(path.join(folder, name)) ? fs.readFileSync(path.join(folder, name), 'utf8') : null);
  const open = async (name) => {
    const document = await vscode.workspace.openTextDocument(place(name));
    await vscode.window.showTextDocument(document);
    return document;
  };
  const lenses = async (name) => (await vscode.commands.executeCommand('vscode.executeCodeLensProvider', place(name), 99))
    .map((one) => `${one.range.start.line}: ${one.command?.title}`);
  /** Renames what is chosen in the explorer, as a user does. */
  const rename = async (name, newName) => {
    await vscode.commands.executeCommand('revealInExplorer', place(name));
    await screen.wait({ selector: '.explorer-folders-view .monaco-list-row.focused', text: name });
    await until(async () => {
      // The explorer has the keyboard a moment before its keys do what they say.
      await vscode.commands.executeCommand('workbench.files.action.focusFilesExplorer');
      await screen.press({ keys: 'F2' });
      return screen.wait({ selector: '.explorer-item-edited input', limitMs: 1000 }).then(() => true, () => false);
    }, 'the name to be edited');
    await screen.press({ keys: 'Control+a' });
    for (const one of newName) await screen.press({ keys: one });
    await screen.press({ keys: 'Enter' });
    await until(() => fs.existsSync(path.join(folder, newName)), newName);
    await vscode.commands.executeCommand('agent-ls.openPanel');
  };
  const before = onDisk('prices.py');

  await step('the agent changes two files', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await panel('wait', { selector: '.composer textarea' });
    await choose(until, 'auto');
    await open('prices.py');
    await say('Change it.');
    await panel('wait', { selector: '.changes .line', text: '3 changes' });
    await panel('wait', { selector: '.end .verb', text: 'Done' });
  });
  await step('a file renamed in the explorer keeps its changes', async () => {
    await rename('prices.py', 'costs.py');
    await open('costs.py');
    await until(async () => (await lenses('costs.py')).length >= 4, 'the lenses under the new name');
    await panel('click', { selector: '.changes .line' });
    await panel('wait', { selector: '.changes', text: 'costs.py' });
    await screen.shot({ name: 'renamed' });
    const shown = (await panel('texts', { selector: '.changes' })).join('\n');
    if (/prices\.py/.test(shown)) throw new Error(shown);
  });
  await step('a file whose folder is renamed keeps them, too', async () => {
    await rename('lib', 'parts');
    await panel('click', { selector: '.changes .line' });
    await panel('wait', { selector: '.changes', text: 'parts' });
    await screen.shot({ name: 'folder' });
  });
  await step('a change of a renamed file is undone with keys', async () => {
    const document = await open('costs.py');
    const at = document.positionAt(document.getText().indexOf('whole ='));
    vscode.window.activeTextEditor.selection = new vscode.Selection(at, at);
    await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    await screen.press({ keys: 'Control+k' });
    await screen.press({ keys: 'Backspace' });
    await until(() => !document.getText().includes('whole'), 'the undone change');
    await panel('wait', { selector: '.changes .line', text: '2 changes' });
    if (document.getText() !== before.replace('Decimal\n', 'Decimal  # money\n')) throw new Error(document.getText());
  });
  await step('all is undone, and the new names stay', async () => {
    await panel('click', { selector: '[aria-label="Undo All in this turn"]' });
    await panel('wait', { selector: '.changes', gone: true });
    const document = await open('costs.py');
    if (document.getText() !== before) throw new Error(document.getText());
    await document.save();
    await until(() => onDisk('parts/taxes.py') === 'RATE = 19\n', 'the taxes of before');
    if (onDisk('prices.py') !== null || onDisk('lib/taxes.py') !== null) throw new Error('an old name is back');
    await screen.shot({ name: 'undone' });
  });
  await step('files that changed places are shown and go back', async () => {
    await say('Swap them.');
    await panel('wait', { selector: '.end .verb', text: 'Done' });
    await until(() => onDisk('a.txt') === 'b\n', 'the swap');
    await panel('wait', { selector: '.changes .line', text: '2 changes' });
    await panel('click', { selector: '.changes .line' });
    await screen.shot({ name: 'swapped' });
    await panel('click', { selector: '[aria-label="Undo All in this turn"]' });
    await until(() => onDisk('a.txt') === 'a\n' && onDisk('b.txt') === 'b\n', 'the places of before');
    if (onDisk('t') !== null) throw new Error('t is there');
    await screen.shot({ name: 'swapped-back' });
  });
};
