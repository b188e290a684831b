// What a user does with the agent's panel, in words; and where our server is.
const fs = require('node:fs');
const vscode = require('vscode');

// The first answer waits for the model host to load, on a machine that does other things, too.
const LIMIT_MS = 40_000;

/** The process of our server: a child of this extension host; null when there is none. */
exports.server = () => {
  for (const pid of fs.readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [, state, parent] = /\) (\S) (\d+)/.exec(stat);
      const isOurs = /agent_ls[\0 ]serve/.test(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      if (Number(parent) === process.pid && isOurs && state !== 'Z') return Number(pid);
    } catch {
      // It ended while we looked.
    }
  }
  return null;
};

/** Chooses a mode by the server's own command, which is there as soon as the server is. */
exports.choose = async (until, mode) => {
  const isThere = async () => (await vscode.commands.getCommands(true)).includes('agent-ls.mode');
  await until(isThere, 'no server');
  await vscode.commands.executeCommand('agent-ls.mode', mode);
};

exports.agent = ({ screen }) => {
  /** Does something to the panel; a failure says what the panel showed. */
  const panel = async (what, words) => {
    try {
      return await screen[what]({ panel: true, limitMs: LIMIT_MS, ...words });
    } catch (error) {
      const shown = await screen.texts({ panel: true }).catch((one) => [String(one)]);
      throw new Error(`${error.message}\nThe panel showed:\n${shown.join('\n')}`);
    }
  };
  return {
    panel,
    /** Waits until the panel shows a text. */
    shows: (text, selector = 'body') => panel('wait', { selector, text }),
    /** Types a prompt and sends it. */
    say: async (words) => {
      await panel('fill', { selector: '.composer textarea', words });
      await screen.press({ keys: 'Enter' });
      await panel('wait', { selector: '.user', text: words });
    },
  };
};
