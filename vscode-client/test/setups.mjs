// The set-up in its states, as the extension tells them; for pictures and for tests of the page.
const window = { model: "anthropic/claude-sonnet-4-5", windowTokens: 200_000 };
const row = {
  ...window,
  maxOutputTokens: 64_000,
  inputPrice: 3,
  outputPrice: 15,
  hasTools: true,
  takesImages: true,
  efforts: ["low", "medium", "high"],
};
const provider = {
  provider: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  signIn: null,
  isReady: false,
};
const accounts = [
  { name: "chatgpt", title: "ChatGPT", plan: "a paid ChatGPT plan", provider: "chatgpt" },
  {
    name: "copilot",
    title: "GitHub Copilot",
    plan: "a GitHub account with Copilot",
    provider: "github_copilot",
  },
];
const folder = "file:///home/ann/shop";
const offer = (switchesOn) => ({ uri: folder, isTrusted: false, switchesOn, staysOff: [] });
const missing = {
  model: row,
  provider,
  isMissing: true,
  problem: "There is no key for anthropic/claude-sonnet-4-5.",
  accounts,
};
const there = {
  ...missing,
  provider: { ...provider, isReady: true },
  isMissing: false,
  problem: "",
};
const idle = { install: { is: "idle" }, access: null, isLooked: false, offers: null, problems: {} };
const config = (model, isTrusted = false) => ({
  type: "config",
  config: {
    sessionId: "ses_00",
    mode: "ask",
    model,
    silenced: [],
    modes: [],
    roots: [{ name: "shop", uri: folder, isTrusted }],
    problems: [],
  },
});
const server = (state) => ({ type: "server", server: state });
const setup = (change) => ({ type: "setup", setup: { ...idle, ...change } });
const none = {
  is: "failed",
  problem: "The agent server is not installed on this machine.",
  advice: "Install it here, or pick an interpreter that has it.",
  missing: "server",
};
const running = { is: "running", version: "0.4.0" };
const lines = [
  "$ /usr/bin/python3 -I -m venv /home/ann/.config/Code/User/globalStorage/agent-ls.agent-ls/server/1",
  "Collecting agent-ls",
  "Downloading agent_ls-0.4.0-py3-none-any.whl (1.1 MB)",
  "Collecting httpx[socks]<1,>=0.28 (from agent-ls)",
  "Installing collected packages: sniffio, idna, h11, certifi, anyio, httpcore, httpx, agent-ls",
];

/** The messages of each state, by its name. */
export const SETUPS = {
  "no server": [server(none), setup({})],
  "a wrong setting": [
    server({
      is: "failed",
      problem:
        "The setting `agent-ls.python` names `/nowhere/python`, which is no program on this machine.",
      advice: "Correct the setting, or empty it so that agent-ls is looked for.",
      missing: "setting",
    }),
    setup({}),
  ],
  installing: [server(none), setup({ install: { is: "running", lines } })],
  "not installed": [
    server(none),
    setup({
      install: {
        is: "failed",
        problem: "This Python cannot make environments: its package venv is missing.",
        advice:
          "Run `sudo apt install python3.11-venv` in a terminal, or install uv. Then try again.",
        lines,
      },
    }),
  ],
  "no model": [server(running), config(""), setup({ isLooked: true, offers: [offer([])] })],
  "no key": [
    server(running),
    config(row.model),
    setup({ access: missing, isLooked: true, offers: [offer([])] }),
  ],
  "a bad key": [
    server(running),
    config(row.model),
    setup({
      access: {
        ...missing,
        isMissing: false,
        problem:
          "ANTHROPIC_API_KEY begins with a quotation mark, which is no part of a key: take the quotes away.",
      },
      isLooked: true,
      offers: [offer([])],
    }),
  ],
  "an account": [
    server(running),
    config("chatgpt/gpt-5.3-codex"),
    setup({
      access: {
        ...missing,
        model: { ...row, model: "chatgpt/gpt-5.3-codex", inputPrice: null, outputPrice: null },
        provider: { provider: "chatgpt", keyVariable: null, signIn: "chatgpt", isReady: false },
      },
      isLooked: true,
      offers: [],
    }),
  ],
  trust: [
    // Something was missing a moment ago.
    server(running),
    config(""),
    config(row.model),
    setup({
      access: there,
      isLooked: true,
      offers: [
        offer([
          "the checker `make lint` of .agent-ls/config.toml",
          "the hook .agent-ls/hooks/before_edit.sh",
          "the tool server `docs` of .mcp.json",
        ]),
      ],
    }),
  ],
  "all done": [
    server(running),
    config(""),
    config(row.model),
    setup({ access: there, isLooked: true, offers: [offer([])] }),
  ],
};
