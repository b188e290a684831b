// The panel's start: listens to the extension, draws at most once per frame, keeps what must outlive it.
// First, so that all that follows speaks the user's language from its beginning.
import "./language";
import { render } from "preact";
import type { FromPanel, ToPanel } from "../messages";
import { App } from "./app";
import { watchChords } from "./chords";
import { Keeper, KeptContext, type PageState } from "./kept";
import "./panel.css";
import { type Keep, type Known, learn, UNKNOWN } from "./store";

interface Editor extends PageState {
  postMessage(said: FromPanel): void;
}

declare function acquireVsCodeApi(): Editor;

const editor = acquireVsCodeApi();
const root = document.getElementById("root");
const post = (said: FromPanel) => editor.postMessage(said);

const kept = new Keeper(editor);
let known: Known = { ...UNKNOWN, drafts: kept.drafts };
let isDue = false;

function draw(): void {
  if (isDue || !root) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(
      <KeptContext.Provider value={kept}>
        <App known={known} post={post} keep={keep} />
      </KeptContext.Provider>,
      root,
    );
  });
}

function know(now: Known): void {
  const isWritten = now.drafts !== known.drafts;
  known = now;
  if (isWritten) kept.keepDrafts(known.drafts);
}

const keep: Keep = (change, isSeen = true) => {
  know({ ...known, drafts: change(known.drafts) });
  if (isSeen) draw();
};

window.addEventListener("message", ({ data }: MessageEvent<ToPanel>) => {
  know(learn(known, data));
  draw();
});

window.addEventListener("pagehide", () => kept.flush());
watchChords(window, navigator.userAgent.includes("Mac"));
draw();
post({ type: "ready" });
