// The set-up in its states, for pictures and for tests of the page: the extension's own words around
// what the real server said.
import { recorded } from "./recorded.mjs";

const { messages } = recorded("setup");
/** What the server said of a model: how it is reached, and what trust would switch on. */
const saidOf = (model) => messages.find((one) => one.setup?.access.model.model === model).setup;
const claude = saidOf("anthropic/claude-haiku-4-5");
const account = saidOf("chatgpt/gpt-5.3-codex");
const bad = saidOf("mistral/mistral-large");
const there = saidOf("openai/gpt-5");
const trusted = messages.findLast((one) => one.setup).setup;
const config = (model) =>
  model
    ? messages.find((one) => one.config?.model === model)
    : { type: "config", config: { ...messages[1].config, model: "" } };
const idle = { install: { is: "idle" }, access: null, isLooked: false, offers: null, problems: {} };
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
  "no model": [server(running), config(""), setup({ isLooked: true, offers: claude.offers })],
  "no key": [server(running), config(claude.access.model.model), setup(claude)],
  "a bad key": [server(running), config(bad.access.model.model), setup(bad)],
  "an account": [server(running), config(account.access.model.model), setup(account)],
  trust: [
    // Something was missing a moment ago.
    server(running),
    config(""),
    config(there.access.model.model),
    setup(there),
  ],
  "all done": [server(running), config(""), messages.findLast((one) => one.config), setup(trusted)],
};
