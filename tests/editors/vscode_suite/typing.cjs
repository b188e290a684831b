// A user types in a real VS Code while the agent edits the same file: every letter stays, every
// edit is made whole or not at all, and undoing them leaves what was typed.
const path = require('node:path');
const vscode = require('vscode');
const { agent, choose } = require('./user.cjs');

const EDITS = 10;
const TYPED_AFTER = 4;
const KEY_EVERY_MS = 120;
// A user stops now and then, and thinks between two sentences. Without that, a slow machine, on which
// an edit takes seconds to come back from the editor, finds no moment between two letters.
const STOPS = [
  { every: 36, ms: 4_000 },
  { every: 12, ms: 900 },
];

exports.run = async ({ step, until, screen }) => {
  const { panel, say } = agent({ until, screen });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path.join(folder, 'many.py')));
  const opened = await vscode.window.showTextDocument(document);
  // Before the agent begins, whose edits move the caret with its line.
  const at = new vscode.Position(TYPED_AFTER + 1, 2);
  opened.selection = new vscode.Selection(at, at);
  let typed = '';
  const lines = (of) => Array.from({ length: EDITS }, (_, i) => of(i) + (i === TYPED_AFTER ? `# ${typed}\n` : '')).join('');
  const old = (i) => `value_${i} = ${i}\n`;
  const edited = (i) => `value_${i} = ${i + 100}\nadded_${i} = 1\n`;

  await step('letters are typed while the agent edits around them', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await panel('wait', { selector: '.composer textarea' });
    await choose(until, 'auto');
    await say('Change it.');
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    while (typed.length < 300 && !document.getText().includes(`added_${EDITS - 1}`)) {
      const key = 'abcdefghij'[typed.length % 10];
      await screen.press({ keys: key });
      typed += key;
      const wait_ms = STOPS.find((one) => typed.length % one.every === 0)?.ms ?? KEY_EVERY_MS;
      await new Promise((done) => setTimeout(done, wait_ms));
    }
    await panel('wait', { selector: '.end .verb', text: 'Done' });
    await screen.shot({ name: 'typed' });
  });
  await step('every letter is there, and every edit as a whole or not at all', async () => {
    const text = document.getText();
    const made = (i) => text.includes(edited(i));
    if (text !== lines((i) => (made(i) ? edited(i) : old(i)))) throw new Error(text);
    if (!made(0) && !made(EDITS - 1)) throw new Error('no edit came through');
  });
  await step('undoing all leaves what was typed', async () => {
    await panel('click', { selector: '.changes .line' });
    await panel('click', { selector: '[aria-label="Undo All in this turn"]' });
    await panel('wait', { selector: '.changes', gone: true });
    if (document.getText() !== lines(old)) throw new Error(document.getText());
  });
};
