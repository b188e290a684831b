// Going back to before a prompt in a real VS Code, by keyboard: the prompt is changed or tried again in a
// fork, files go back when that was said, and the session that was left stays and is opened again.
const path = require('node:path');
const vscode = require('vscode');
const { agent, choose } = require('./user.cjs');

exports.run = async ({ step, until, screen }) => {
  const { panel, shows, say } = agent({ screen });
  const look = (selector, code) => panel('evaluate', { selector, code });
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const document = await vscode.workspace.openTextDocument(path.join(folder, 'prices.py'));
  const before = document.getText();
  const field = '.composer .box textarea';
  const holds = (words) => until(async () => (await look(field, '(one) => one.value')) === words, `the prompt ${words}`);
  const last = (kind) => look('.transcript', `(one) => [...one.querySelectorAll('.rewind .${kind}')].at(-1).focus()`);

  await step('a second turn changes a file', async () => {
    await vscode.commands.executeCommand('agent-ls.openPanel');
    await shows('What shall we change?');
    await choose(until, 'accept-edits');
    await say('What is here?');
    await shows('One function that rounds.', '.answer');
    await say('Round half up.');
    await shows('It rounds to three places.', '.answer');
    await until(() => document.getText() !== before, 'the edit');
  });
  await step('what fills the window opens at the percentage', async () => {
    await panel('click', { selector: '.usage' });
    await panel('wait', { selector: '.popover tr', text: 'Tools' });
    await screen.shot({ name: '0-window' });
    await screen.press({ keys: 'Escape' });
    await panel('wait', { selector: '.popover', gone: true });
  });
  await step('its prompt is edited by keyboard: what goes back is seen first', async () => {
    await last('edit');
    await screen.press({ keys: 'Enter' });
    await panel('wait', { selector: '.rewinding h2', text: 'Edit this prompt' });
    await panel('wait', { selector: '.rewinding li', text: 'prices.py goes back' });
    await screen.shot({ name: '1-asked' });
    // From the card to its box, to the yes.
    for (const keys of ['Tab', 'Tab', 'Enter']) await screen.press({ keys });
    await panel('wait', { selector: '.origin', text: 'From “What is here?”' });
    await holds('Round half up.');
    await until(() => document.getText() === before, 'the file as it was');
    const said = await panel('texts', { selector: '.user .said' });
    if (said.join() !== 'What is here?') throw new Error(said.join());
    await screen.shot({ name: '2-back' });
  });
  await step('it is changed and sent', async () => {
    await say('Round half down.');
    await shows('It rounds half down now.', '.answer');
  });
  await step('both are in the list, and the new one says where it comes from', async () => {
    await vscode.commands.executeCommand('agent-ls.sessions.focus');
    await screen.wait({ selector: '.monaco-list-row', text: 'from “What is here?”', limitMs: 20_000 });
    await screen.shot({ name: '3-list' });
  });
  await step('the one that was left is whole, and opens from the line above the prompt', async () => {
    await panel('click', { selector: '.origin button', text: 'Open' });
    await shows('Round half up.', '.user');
    await panel('wait', { selector: '.origin', gone: true });
  });
  await step('a prompt is tried again as it was', async () => {
    await last('retry');
    await screen.press({ keys: 'Enter' });
    await panel('wait', { selector: '.rewinding h2', text: 'Try this prompt again' });
    await panel('click', { selector: '.rewinding button', text: 'Try Again' });
    await shows('It rounds half down, said again.', '.answer');
    const said = await panel('texts', { selector: '.user .said' });
    if (said.join() !== 'What is here?,Round half up.') throw new Error(said.join());
    await screen.shot({ name: '4-again' });
  });
  await step('while a turn runs it says what happens, and goes on after the stop', async () => {
    await say('Tell me more.');
    await shows('The first half', '.answer');
    await last('edit');
    await screen.press({ keys: 'Enter' });
    await shows('Stop it first', '.rewinding');
    await screen.shot({ name: '5-works' });
    await panel('click', { selector: '.rewinding button', text: 'Stop' });
    await panel('click', { selector: '.rewinding button.primary', text: 'Edit' });
    await holds('Tell me more.');
    await say('Tell me all of it.');
    await shows('All of it.', '.answer');
  });
};
