// Scenes of the panel: what it was told, in the editor's themes. Pictures and checks are made of them.
//
// `themes.json` holds the values of the variables that the style uses: as a real VS Code 1.139 gave them
// to its webviews, and for the light high contrast theme as the editor's source sets them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SETUPS } from "./setups.mjs";

const read = (name) => JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8"));
export const themes = read("themes.json");
const fix = read("golden/fix_prices.json");
const stopped = read("golden/stopped_and_failed.json");
const refused = read("golden/refused_and_delegated.json");

export const until = (params, kind, nth = 1) => {
  let seen = 0;
  const at = params.findIndex((one) =>
    one.updates.some((update) => update.sessionUpdate === kind && ++seen === nth),
  );
  return params.slice(0, at + 1);
};
const running = { is: "running" };
const failed = {
  is: "failed",
  problem: "The agent server is not installed on this machine.",
  advice: "Install it with `uv tool install agent-ls`, then restart the server.",
};
const review = [
  {
    sessionId: "ses_01",
    turnId: "trn_01",
    prompt: "Prices are off by a cent",
    toolCallIds: ["cal_04", "cal_05", "cal_07"],
    leftFiles: 0,
    files: [],
  },
];
const hunk = (line, title, more = {}) => ({
  hunkId: `${line}`,
  kind: "text",
  state: "open",
  line,
  endLine: line + 1,
  addedLines: 2,
  removedLines: 1,
  isChangedSince: false,
  continues: false,
  title,
  old: null,
  new: null,
  ...more,
});
const changedFile = (path, ...hunks) => ({
  location: { path, uri: `file:///${path}`, line: null },
  turnId: "trn_01",
  movedFrom: null,
  hunks,
});
const many = Array.from({ length: 9 }, (_, n) => hunk(20 * n + 40, `price_${n} = Decimal(${n})`));
const listed = [
  {
    ...review[0],
    files: [
      changedFile("CHANGELOG.md", hunk(0, "", { kind: "created" })),
      changedFile(
        "shop/prices.py",
        hunk(2, "from decimal import ROUND_HALF_UP, Decimal, localcontext"),
        hunk(11, "return exact.quantize(CENT)", { isChangedSince: true }),
        ...many,
      ),
      changedFile("tests/test_prices.py", hunk(0, "tests/prices_test.py", { kind: "moved" })),
      changedFile("tests/old.py", hunk(3, "", { state: "undone" })),
    ],
  },
];
const fate = (path, more) => ({
  location: { path, uri: `file:///${path}`, line: null },
  turnId: "trn_01",
  status: "done",
  hunks: 1,
  reason: "",
  edit: null,
  conflict: null,
  ...more,
});
const fates = [
  fate("shop/prices.py", { edit: "change" }),
  fate("CHANGELOG.md", { edit: "delete" }),
  fate("tests/test_prices.py", {
    status: "conflict",
    reason: "these lines were changed since",
    conflict: { now: "a", wanted: "b" },
  }),
];
/** What a sub-agent did, as its own session tells it. */
const explored = {
  session: {},
  seq: 9,
  updates: until(fix, "agent_message", 2).flatMap((one) => one.updates),
  partial: null,
};
const long = Array.from(
  { length: 60 },
  (_, n) => `+    price_${n} = Decimal("${n}.00").quantize(CENT, rounding=ROUND_HALF_UP)`,
);
const plan = {
  sessionUpdate: "question",
  questionId: "qst_9",
  origin: "plan",
  text: "The proposed plan has 2 steps. Which of them may run?",
  options: ["all", "one by one", "none"],
  steps: [
    {
      toolCallId: "cal_91",
      title: "Edit shop/prices.py",
      kind: "edit",
      payload: ["--- a/shop/prices.py", "+++ b/shop/prices.py", "@@ -1,2 +1,62 @@", ...long].join(
        "\n",
      ),
      isAskedAgain: false,
    },
    {
      toolCallId: "cal_92",
      title: "Run: pytest -q",
      kind: "execute",
      payload: "pytest -q\n(in /home/ada/shop)",
      isAskedAgain: false,
    },
  ],
};
const command = {
  sessionUpdate: "permission_request",
  approvalId: "apr_91",
  toolCallId: "cal_93",
  tool: "run_command",
  title: "Run: for price in …",
  kind: "execute",
  reason: "It changes files outside of the workspace.",
  payload: Array.from(
    { length: 30 },
    (_, n) => `python3 -m shop.prices --round ${n} >> /tmp/prices.txt`,
  ).join("\n"),
  location: null,
  grant: null,
  options: [
    { optionId: "allow_once", name: "Allow once" },
    { optionId: "allow_session", name: "Allow for this session: this exact command" },
    { optionId: "reject_once", name: "Reject" },
  ],
  rawInput: { command: "x" },
};
/** The story up to a kind of update, and what else happens then. */
const then = (params, ...updates) => {
  const { sessionId, seq } = params.at(-1);
  return [...params, ...updates.map((one, n) => ({ sessionId, seq: seq + n + 1, updates: [one] }))];
};
const answer = { sessionUpdate: "question_resolved", questionId: "qst_9", text: "all", by: "user" };
const ended = (toolCallId) => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status: "completed",
  locations: null,
  content: null,
  images: null,
  rawOutput: null,
  error: null,
  outcome: "ok",
  durationMs: 40,
});
const working = until(fix, "tool_call_output", 2);
const unsent = [
  "Also mention it in the changelog.",
  "Then run the whole test suite and tell me\nwhat is slow.",
];
export const scenes = [
  { name: "welcome", params: [], server: running },
  { name: "failed", params: [], server: failed },
  { name: "edit waits", params: until(fix, "permission_request"), server: running },
  {
    name: "command waits",
    params: until(fix, "permission_request", 2),
    server: running,
    click: [".plan .line"],
  },
  {
    name: "running",
    params: until(fix, "tool_call_output", 2),
    server: running,
    draft: "Use the project's own runner",
  },
  { name: "done", params: fix, server: running },
  {
    name: "opened",
    params: fix,
    server: running,
    click: [".call .line", ".note .line", ".thought .line"],
    tall: true,
  },
  {
    name: "reviewing",
    params: fix,
    server: running,
    review: listed,
    click: [".changes .line"],
    decided: true,
  },
  {
    name: "restore asks",
    params: fix,
    server: running,
    review,
    click: [".call .restore"],
    restore: { is: "foreseen", files: fates },
  },
  {
    name: "restored",
    params: fix,
    server: running,
    review,
    click: [".call .restore"],
    restore: { is: "done", files: fates },
  },
  { name: "question", params: until(stopped, "question"), server: running },
  { name: "stopped", params: stopped, server: running },
  { name: "amend", params: until(fix, "permission_request", 2), server: running, click: [".tool"] },
  {
    name: "not sent",
    params: working,
    server: running,
    draft: "Use the project's own runn",
    unsent,
  },
  { name: "plan asks", params: then(working, plan), server: running },
  { name: "plan runs", params: then(working, plan, answer, ended("cal_91")), server: running },
  { name: "several wait", params: then(working, command, plan), server: running },
  { name: "retrying", params: until(refused, "notice", 2), server: running },
  { name: "refused and delegated", params: until(refused, "turn_ended"), server: running },
  { name: "key refused", params: refused, server: running },
  {
    name: "sub-agent opened",
    params: until(refused, "turn_ended"),
    server: running,
    click: [".sub-agent .line", ".group .line", ".reasons .line", ".call.failed .line"],
    tall: true,
    after: [
      {
        type: "transcript",
        sessionId: "ses_02",
        snapshot: { ...explored, session: session(fix) },
        problem: "",
      },
    ],
  },
  ...Object.entries(SETUPS).map(([name, told]) => ({ name: `set up: ${name}`, params: [], told })),
];

function session(params) {
  return {
    sessionId: params[0]?.sessionId ?? "ses_00",
    title: "",
    mode: params.flatMap((one) => one.updates).findLast((one) => one.mode)?.mode ?? "ask",
    model:
      params.flatMap((one) => one.updates).findLast((one) => one.model)?.model ?? "openai/gpt-5",
    status: null,
    turns: 0,
    isInterrupted: false,
  };
}

/** A page that shows a scene; `more` is put behind the panel's script. */
export function frame(scene, theme, more = "") {
  const {
    params,
    server,
    click = [],
    draft = "",
    review = [],
    restore,
    decided,
    told,
    unsent = [],
    after = [],
  } = scene;
  const { body, variables } = themes[theme];
  const style = Object.entries(variables)
    .map(([name, value]) => `${name}: ${value}`)
    .join("; ");
  const messages = [
    ...(told ?? [{ type: "server", server }]),
    {
      type: "snapshot",
      snapshot: { session: session(params), seq: 0, updates: [], partial: null },
    },
    ...params.map((one) => ({ type: "updates", params: one })),
    ...unsent.map((text) => ({
      type: "unsent",
      sessionId: session(params).sessionId,
      text,
      problem: "Stopped before it was read.",
    })),
    { type: "review", turns: review },
    {
      type: "decided",
      files: decided ? [{ ...fates[2], location: { path: "shop/prices.py" } }] : [],
    },
  ];
  // The first moment's button is the one that is clicked last.
  const late = [...(restore ? [{ type: "restore", momentId: "cal_04", restore }] : []), ...after];
  const { sessionId } = session(params);
  const kept = { prompts: { [sessionId]: draft }, shown: sessionId };
  const data = JSON.stringify({ messages, click, kept, late }).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html><html lang="en" style="${style.replaceAll('"', "&quot;")}">
<head><meta charset="utf-8"><title>${scene.name}</title><link rel="stylesheet" href="../panel.css"></head>
<body class="${body}" style="background: var(--vscode-sideBar-background)"><div id="root"></div>
<script>
const scene = ${data};
window.acquireVsCodeApi = () => ({
  getState: () => ({ drafts: scene.kept }), setState() {},
  postMessage(said) { if (said.type === "ready") setTimeout(() => scene.messages.forEach((one) => window.postMessage(one, "*"))); },
});
setTimeout(() => scene.click.forEach((selector) => document.querySelectorAll(selector).forEach((one) => one.click())), 1500);
setTimeout(() => scene.late.forEach((one) => window.postMessage(one, "*")), 2200);
</script>
<script src="../panel.js"></script>${more}</body></html>`;
}
