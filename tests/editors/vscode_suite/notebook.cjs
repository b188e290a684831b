// A notebook that is open by its cells: an edit is asked for, lands in its cell as unsaved text, is
// taken back there beside what the user typed, and the saved file keeps outputs and metadata.
const fs = require('node:fs/promises');
const path = require('node:path');
const vscode = require('vscode');
const { agent } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'sums.ipynb'));
  const notebook = await vscode.workspace.openNotebookDocument(uri);
  const text = (index) => notebook.cellAt(index).document.getText();
  const onDisk = async () => JSON.parse(await fs.readFile(uri.fsPath, 'utf8'));
  const before = await onDisk();
  const lenses = async () => {
    const cell = notebook.cellAt(1).document.uri;
    const found = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', cell, 9);
    return found.map((one) => `${one.range.start.line}: ${one.command?.title}`);
  };

  await step('an edit of a cell asks, and shows the cell', async () => {
    // A notebook draws its outputs in a webview of its own: the panel's is the first one.
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('What shall we change?');
    await vscode.window.showNotebookDocument(notebook);
    await say('Set x.');
    await panel('wait', { selector: '.approval h2', text: 'sums.ipynb' });
    const rows = await panel('texts', { selector: '.payload .row' });
    if (!rows.some((row) => row.startsWith('+') && row.includes('x = 2'))) throw new Error(rows.join('\n'));
    if (rows.some((row) => row.includes('"source"'))) throw new Error(rows.join('\n'));
    if (text(1) !== 'x = 1\nprint(x)') throw new Error(text(1));
    await screen.shot({ name: 'notebook-asks' });
  });
  await step('it lands in the cell as unsaved text', async () => {
    await panel('click', { selector: '.approval .primary' });
    await until(() => text(1) === 'x = 2\nprint(x)', 'the edit');
    await panel('wait', { selector: '.end .verb', text: 'Done' });
    if (!notebook.isDirty) throw new Error('the notebook should have unsaved changes');
    if (JSON.stringify(await onDisk()) !== JSON.stringify(before)) throw new Error('the file was written');
  });
  await step('the change has its lens in the cell', async () => {
    await until(async () => (await lenses()).includes('0: Keep +1 -1'), 'the lens');
    await screen.shot({ name: 'notebook-changed' });
  });
  await step('an undo in the panel leaves what was typed in the same cell', async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(notebook.cellAt(1).document.uri, new vscode.Position(1, 8), '  # mine');
    await vscode.workspace.applyEdit(edit);
    await panel('click', { selector: '.changes .line' });
    await panel('click', { selector: '[aria-label="Undo All in this turn"]' });
    await until(() => text(1) === 'x = 1\nprint(x)  # mine', 'the undo');
    await panel('wait', { selector: '.changes', gone: true });
  });
  await step('the saved file keeps outputs and metadata', async () => {
    await notebook.save();
    const saved = await onDisk();
    if (saved.cells[1].source.join('') !== 'x = 1\nprint(x)  # mine') throw new Error(JSON.stringify(saved));
    const [output] = saved.cells[1].outputs;
    if (output.name !== 'stdout' || output.text.join('') !== '1\n') throw new Error(JSON.stringify(output));
    if (saved.metadata.mine !== 'kept') throw new Error(JSON.stringify(saved.metadata));
  });
};
