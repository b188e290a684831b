// Measures the panel with a long session: npm run long [-- --updates=10000 --panel=dist]
//
// Prints the first paint after a snapshot, frames a second while an answer streams, and the heap.
// Needs a chromium on the PATH.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { visit } from "./chromium.mjs";
import { frame } from "./scenes.mjs";

const { values } = parseArgs({
  options: {
    updates: { type: "string", default: "10000" },
    panel: { type: "string", default: join(import.meta.dirname, "..", "dist") },
  },
});
const dist = resolve(values.panel);

const MEASURE = `<script>
const text = (words) => ({ type: "text", text: words });
const rest = { locations: null, content: null, images: null, rawOutput: null, error: null, outcome: null, durationMs: null };
function* session() {
  yield { sessionUpdate: "session_created", mode: "ask", model: "openai/gpt-5" };
  for (let turn = 1; ; turn++) {
    yield { sessionUpdate: "turn_started", turnId: "trn_" + turn, anchor: null };
    yield { sessionUpdate: "user_message_chunk", content: text("Round the prices of part " + turn + " half up, and say what else you see."), images: null, origin: "user" };
    for (let step = 1; step <= 8; step++) {
      const id = turn + "_" + step;
      yield { sessionUpdate: "phase_update", phase: "call", step, detail: "" };
      yield { sessionUpdate: "agent_message", stepId: "stp_" + id, content: text(step % 3 ? "" : "Part " + id + " rounds with **floats**:\\n\\n\`\`\`python\\nreturn round(price * (1 - percent / 100), 2)\\n\`\`\`\\n\\nso it is off by a cent."), thought: "", isPartial: false };
      const [tool, kind, what] = [["read_file", "read", "shop/part_" + id + ".py"], ["grep", "search", "round_" + id], ["edit_file", "edit", "shop/part_" + id + ".py"], ["run_command", "execute", "python3 -m pytest -q tests/test_" + id + ".py"]][step % 4];
      yield { sessionUpdate: "tool_call", toolCallId: "cal_" + id, stepId: "stp_" + id, tool, title: tool + " " + what, kind, status: "pending", rawInput: { path: what } };
      yield { sessionUpdate: "tool_call_decision", toolCallId: "cal_" + id, decision: "allow", origin: "guards", reason: "" };
      yield { sessionUpdate: "tool_call_update", toolCallId: "cal_" + id, ...rest, status: "in_progress" };
      yield { sessionUpdate: "tool_call_update", toolCallId: "cal_" + id, ...rest, status: "completed", content: text(("line of " + id + " that says something\\n").repeat(30)), outcome: "ok", durationMs: 120 };
    }
    yield { sessionUpdate: "turn_ended", turnId: "trn_" + turn, stopReason: "completed", status: "success", output: "", failureReason: "", title: "Done", failure: null, actions: [], openTasks: [] };
  }
}
const frames = (count) => new Promise((done) => { const next = () => (count-- ? requestAnimationFrame(next) : done()); next(); });
const heap = () => { gc(); return performance.memory.usedJSHeapSize / 2 ** 20; };
const say = (one) => window.postMessage(one, "*");
async function measure() {
  let updates = [];
  for (const one of session()) { updates.push(one); if (updates.length >= ${Number(values.updates)} && one.sessionUpdate === "turn_ended") break; }
  const count = updates.length;
  const info = { sessionId: "ses_9", title: "", mode: "ask", model: "openai/gpt-5", status: null, turns: 1 };
  const json = JSON.stringify({ type: "snapshot", snapshot: { session: info, seq: count, updates, partial: null } });
  updates = null;
  const before = heap();
  const start = performance.now();
  say(JSON.parse(json));
  while (!document.querySelector(".transcript .end")) await frames(1);
  await frames(2);
  const paint = performance.now() - start;
  const rows = document.querySelectorAll(".transcript > *").length;
  const elements = document.querySelectorAll("*").length;
  const stepId = "stp_last", sessionId = "ses_9";
  say({ type: "updates", params: { sessionId, seq: count + 1, updates: [{ sessionUpdate: "turn_started", turnId: "trn_last", anchor: null }, { sessionUpdate: "phase_update", phase: "call", step: 1, detail: "" }] } });
  await frames(10);
  let [drawn, sent, longest, last] = [0, 0, 0, performance.now()];
  const begin = last, words = "The **price** of \`part\` is rounded half up, as [the rule](rule.md) says. ";
  while (last - begin < 5000) {
    await frames(1);
    const now = performance.now();
    drawn++; longest = Math.max(longest, now - last); last = now;
    for (; sent < (now - begin) / 10; sent++) say({ type: "updates", params: { sessionId, seq: count + 1, updates: [{ sessionUpdate: "agent_message_chunk", stepId, content: text(sent % 12 ? words.slice(sent % 30, sent % 30 + 20) : "\\n\\n") }] } });
  }
  const fps = drawn / ((last - begin) / 1000);
  const box = document.querySelector(".transcript");
  const gap = box.scrollHeight - box.scrollTop - box.clientHeight;
  const after = heap();
  // Up through all of it: nothing may stay empty.
  let blank = 0;
  for (let step = 1; step <= 40; step++) {
    box.scrollTop = box.scrollHeight * (1 - step / 40);
    await frames(3);
    const area = box.getBoundingClientRect();
    const seen = document.elementFromPoint(area.left + area.width / 2, area.top + area.height / 2);
    if (!seen?.closest(".entry, .activity, .transcript > .call, .transcript > .answer, .transcript > .user, .transcript > .end")) blank++;
  }
  await fetch("/done", { method: "POST", body: JSON.stringify({ updates: count, firstPaintMs: Math.round(paint), fps: Math.round(fps * 10) / 10, longestFrameMs: Math.round(longest), deltas: sent, gapPx: Math.round(gap), heapMb: Math.round((after - before) * 10) / 10, heapInAllMb: Math.round(after * 10) / 10, rows, elements, blank }) });
}
setTimeout(() => measure().catch((error) => fetch("/done", { method: "POST", body: JSON.stringify({ error: String(error.stack) }) })), 1500);
</script>`;

const found = await visit({
  pages: {
    "/scenes/": frame(
      { name: "long", messages: [{ type: "server", server: { is: "running" } }] },
      "dark",
      MEASURE,
    ),
    "/": '<meta http-equiv="refresh" content="0; url=/scenes/">',
  },
  files: { "/panel.js": join(dist, "panel.js"), "/panel.css": join(dist, "panel.css") },
  flags: ["--enable-precise-memory-info", "--js-flags=--expose-gc"],
});
process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
