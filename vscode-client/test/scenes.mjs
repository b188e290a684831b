// Scenes of the panel: a state that was recorded from the real server, and what the user does in it.
// Pictures and checks are made of them.
//
// `themes.json` holds the values of the variables that the style uses: as a real VS Code 1.139 gave them
// to its webviews, and for the light high contrast theme as the editor's source sets them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { recorded, toldUntil } from "./recorded.mjs";
import { SETUPS } from "./setups.mjs";

export const themes = JSON.parse(readFileSync(join(import.meta.dirname, "themes.json"), "utf8"));

const running = { type: "server", server: { is: "running", version: "0.4.0" } };
/** What only the extension knows of: where the user is, and what was added by hand. */
const here = { name: "prices.py", selection: "prices.py:9-11", title: "shop/prices.py" };
const chip = (kind, name) => ({ kind, name, title: name, part: { type: "file", uri: name } });
const chips = [chip("file", "README.md"), chip("folder", "tests/"), chip("image", "receipt.png")];

/**
 * `more` is said after what was recorded up to the state; `click` and `type` are what the user does
 * then; a `tall` scene has the room of two.
 */
const scene = (name, story, { state = name, more = [], ...user } = {}) => ({
  name,
  messages: [running, ...toldUntil(story, state), ...more],
  ...user,
});

/** The session of a set-up, with the model that is chosen; none before there is a server. */
function startedWith(told) {
  const config = told.findLast((one) => one.config)?.config;
  const [start] = recorded("setup").messages;
  const session = { ...start.snapshot.session, model: config?.model ?? "" };
  return config ? [{ ...start, snapshot: { ...start.snapshot, session } }] : [];
}

export const scenes = [
  scene("empty", "fix", { more: [{ type: "here", here }] }),
  scene("an answer streams", "stream"),
  scene("an edit waits", "fix"),
  scene("two edits wait", "edits"),
  scene("a command waits", "fix", { click: [".plan .line"] }),
  scene("a long command waits", "long_command"),
  scene("a command prints", "fix", { draft: "Use the project's own runner" }),
  scene("done", "fix"),
  scene("all is opened", "fix", {
    state: "done",
    click: [".call .line", ".note .line", ".thought .line"],
    tall: true,
  }),
  scene("changes to review", "fix", { click: [".changes .line"] }),
  scene("a change cannot be undone", "fix", { click: [".changes .line"] }),
  scene("a restore is tried", "fix", {
    state: "files are restored",
    click: [".call .restore"],
  }),
  scene("a plan waits", "plan"),
  scene("a plan runs", "plan"),
  scene("a question waits", "question"),
  scene("a sub-agent", "sub_agent"),
  scene("a sub-agent's transcript", "sub_agent", { click: [".sub-agent .line"] }),
  scene("the key is refused", "key_refused"),
  scene("the rate limit is reached", "rate_limit"),
  scene("the network fails", "network", { click: [".reasons .line"] }),
  scene("stopped", "rate_limit"),
  scene("a turn was cut off", "cut_off"),
  scene("prompts are queued", "unsent"),
  scene("prompts are not sent", "unsent", { draft: "Use the project's own runn" }),
  scene("a prompt with chips", "chips", {
    more: [
      { type: "here", here },
      { type: "attached", chips, problem: "notes.pdf is no text." },
    ],
  }),
  scene("completion of @pri", "chips", { type: "Look at @pri" }),
  scene("completion of #disc", "chips", { type: "Rename #disc" }),
  scene("completion of /", "chips", { type: "/" }),
  scene("a setting is wrong", "mistake", { click: [".banner .line"] }),
  scene("a long conversation", "long"),
  ...Object.entries(SETUPS).map(([name, told]) => ({
    name: `set up: ${name}`,
    messages: [...told, ...startedWith(told)],
  })),
];

/** A page that shows a scene; `more` is put behind the panel's script. */
export function frame({ name, messages, click = [], draft = "", type = "" }, theme, more = "") {
  const { body, variables } = themes[theme];
  const style = Object.entries({ ...variables, ...FONTS })
    .map(([variable, value]) => `${variable}: ${value}`)
    .join("; ");
  const told = messages.filter((one) => !ANSWERS[one.type]);
  const answers = messages.filter((one) => ANSWERS[one.type]);
  const { sessionId } = messages.findLast((one) => one.snapshot)?.snapshot.session ?? {};
  const kept = { prompts: { [sessionId]: draft }, shown: sessionId };
  const data = JSON.stringify({ told, answers, click, type, kept }).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html><html lang="en" style="${style.replaceAll('"', "&quot;")}">
<head><meta charset="utf-8"><title>${name}</title><link rel="stylesheet" href="../panel.css"></head>
<body class="${body}" style="background: var(--vscode-sideBar-background)"><div id="root"></div>
<script>
const scene = ${data}, asks = ${JSON.stringify(ANSWERS)};
const say = (one) => window.postMessage(one, "*");
const later = (...steps) => {
  const [step, ...rest] = steps;
  // What was said or done before has been drawn by then.
  if (step) setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => { step(); later(...rest); })), ${PAUSE_MS});
};
const type = () => {
  const field = document.querySelector("textarea:last-of-type");
  field.focus();
  field.setRangeText(scene.type, 0, field.value.length, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
const shown = new Promise((done) => {
  window.acquireVsCodeApi = () => ({
    getState: () => ({ drafts: scene.kept }), setState() {},
    postMessage(said) {
      // As the extension does: what was asked for is answered by what the server once said.
      const found = scene.answers.findLast((one) => asks[one.type] === said.type && one.restore?.is !== "done");
      if (found) setTimeout(() => say(found.type === "completed" ? { ...found, id: said.id } : found));
      if (said.type === "ready") later(
        () => scene.told.forEach(say),
        () => scene.click.forEach((selector) => document.querySelectorAll(selector).forEach((one) => one.click())),
        () => scene.type && type(),
        () => {},
        done,
      );
    },
  });
});
</script>
<script src="../panel.js"></script>${more}</body></html>`;
}

/** What is only told when the panel asks, and what it says then. */
const ANSWERS = { completed: "complete", transcript: "transcript", restore: "restore" };
const PAUSE_MS = 100;
/** Those that tests/editors/install.sh brings: pictures are the same on each machine. */
const FONTS = {
  "--vscode-font-family": "'DejaVu Sans'",
  "--vscode-editor-font-family": "'DejaVu Sans Mono'",
};
