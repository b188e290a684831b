// The panel's start: listens to the extension, draws at most once per frame, keeps the draft.
import { render } from "preact";
import type { FromPanel, ToPanel } from "../messages";
import { App } from "./app";
import { watchChords } from "./chords";
import "./panel.css";
import { type Known, learn, UNKNOWN } from "./store";

interface Editor {
  postMessage(said: FromPanel): void;
  getState(): { draft: string } | undefined;
  setState(state: { draft: string }): void;
}

declare function acquireVsCodeApi(): Editor;

const editor = acquireVsCodeApi();
const root = document.getElementById("root");
const post = (said: FromPanel) => editor.postMessage(said);

let known: Known = UNKNOWN;
const draft = editor.getState()?.draft ?? "";
let isDue = false;

function draw(): void {
  if (isDue || !root) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(<App known={known} post={post} draft={draft} onDraft={keepDraft} />, root);
  });
}

function keepDraft(text: string): void {
  editor.setState({ draft: text });
}

window.addEventListener("message", ({ data }: MessageEvent<ToPanel>) => {
  known = learn(known, data);
  draw();
});

watchChords(window, navigator.userAgent.includes("Mac"));
draw();
post({ type: "ready" });
