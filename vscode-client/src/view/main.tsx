// The panel's start: listens to the extension, draws at most once per frame, keeps what is written.
import { render } from "preact";
import type { FromPanel, ToPanel } from "../messages";
import { App } from "./app";
import { watchChords } from "./chords";
import { restored } from "./drafts";
import "./panel.css";
import { type Keep, type Known, learn, UNKNOWN } from "./store";

interface Editor {
  postMessage(said: FromPanel): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Editor;

const editor = acquireVsCodeApi();
const root = document.getElementById("root");
const post = (said: FromPanel) => editor.postMessage(said);

let known: Known = { ...UNKNOWN, drafts: restored(editor.getState()) };
let isDue = false;

function draw(): void {
  if (isDue || !root) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(<App known={known} post={post} keep={keep} />, root);
  });
}

function know(now: Known): void {
  const isWritten = now.drafts !== known.drafts;
  known = now;
  if (isWritten) editor.setState(known.drafts);
}

const keep: Keep = (change, isSeen = true) => {
  know({ ...known, drafts: change(known.drafts) });
  if (isSeen) draw();
};

window.addEventListener("message", ({ data }: MessageEvent<ToPanel>) => {
  know(learn(known, data));
  draw();
});

watchChords(window, navigator.userAgent.includes("Mac"));
draw();
post({ type: "ready" });
