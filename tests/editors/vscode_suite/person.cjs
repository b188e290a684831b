// What a person does with the agent's panel, in words.
exports.agent = ({ screen }) => {
  const panel = (what, words) => screen[what]({ panel: true, ...words });
  return {
    panel,
    /** Waits until the panel shows a text. */
    shows: (text, selector = 'body') => panel('wait', { selector, text, limitMs: 20_000 }),
    /** Types a prompt and sends it. */
    say: async (words) => {
      await panel('fill', { selector: '.composer textarea', words });
      await screen.press({ keys: 'Enter' });
    },
  };
};
