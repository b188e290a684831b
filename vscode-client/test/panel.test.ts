// The panel's host loses none of the user's words, whatever the page is doing.
import { expect, test } from "vitest";
import type { Memento, Uri, WebviewView } from "vscode";
import { Conversation } from "../src/conversation";
import type { FromPanel, ToPanel } from "../src/messages";
import { Panel } from "../src/panel";
import type { Review } from "../src/review";
import type { Agent } from "../src/server";
import { NOTHING, type SetupHost } from "../src/setup";
import type { Update, UpdateParams } from "../src/wire";
import { EventEmitter } from "./editor";
import { snapshot } from "./golden";

const SESSION = snapshot([]).session.sessionId;

/** A page in the editor; hidden it is gone, and what is posted to it is lost. */
class Page {
  readonly taken: ToPanel[] = [];
  readonly said = new EventEmitter<FromPanel>();
  readonly #visibility = new EventEmitter<void>();
  readonly #disposal = new EventEmitter<void>();
  readonly view = {
    visible: true,
    badge: undefined,
    onDidChangeVisibility: this.#visibility.event,
    onDidDispose: this.#disposal.event,
    webview: {
      options: {},
      html: "",
      cspSource: "",
      asWebviewUri: (uri: unknown) => uri,
      onDidReceiveMessage: this.said.event,
      postMessage: (said: ToPanel) => {
        if (this.view.visible) this.taken.push(said);
        return Promise.resolve(this.view.visible);
      },
    },
  };

  show(isShown: boolean): void {
    this.view.visible = isShown;
    this.#visibility.fire();
  }

  dispose(): void {
    this.view.visible = false;
    this.#disposal.fire();
  }

  get back(): string[] {
    return this.taken.flatMap((one) => (one.type === "unsent" ? [one.text] : []));
  }

  get owners(): (string | null)[] {
    return this.taken.flatMap((one) => (one.type === "unsent" ? [one.sessionId] : []));
  }
}

/** A panel whose agent answers snapshots only when told to. */
function opened(memory: Memento | null = null) {
  const updates = new EventEmitter<UpdateParams>();
  const snapshots: (() => void)[] = [];
  const agent = {
    state: { is: "running" },
    onState: new EventEmitter<unknown>().event,
    onUpdate: updates.event,
    request: (method: string) =>
      method === "agent/snapshot"
        ? new Promise((done) => snapshots.push(() => done(snapshot([]))))
        : Promise.reject(new Error("The agent server does not run.")),
  } as unknown as Agent;
  const review = { onChange: new EventEmitter<unknown>().event } as unknown as Review;
  const conversation = new Conversation(agent);
  const setup = {
    state: NOTHING,
    onChange: new EventEmitter<unknown>().event,
    begin: () => Promise.resolve(),
  } as unknown as SetupHost;
  const extension = "/extension" as unknown as Uri;
  const panel = new Panel(extension, agent, conversation, review, setup, memory);
  const page = new Page();
  const resolve = (one: Page) => panel.resolveWebviewView(one.view as unknown as WebviewView);
  resolve(page);
  const tell = (update: Update, sessionId = SESSION) =>
    updates.fire({ sessionId, seq: 9, updates: [update] });
  return { panel, page, snapshots, tell, resolve };
}

const stop = (...returned: string[]): Update => ({
  sessionUpdate: "cancel_requested",
  by: "user",
  returned,
});

/** Let the page load; the snapshot that it asks for comes. */
async function ready({ page, snapshots }: ReturnType<typeof opened>): Promise<void> {
  page.said.fire({ type: "ready" });
  snapshots.pop()?.();
  await new Promise((done) => setTimeout(done));
}

test("what a stop took from the queue comes back one by one, in order", async () => {
  const panel = opened();
  await ready(panel);
  panel.tell(stop("one", "two"));
  expect(panel.page.back).toEqual(["one", "two"]);
});

test("it comes back while the session's snapshot is on its way", () => {
  const panel = opened();
  panel.page.said.fire({ type: "ready" });
  panel.tell(stop("one"));
  expect(panel.page.back).toEqual(["one"]);
});

test("it comes back with its session, also if that is not the one shown", async () => {
  const panel = opened();
  await ready(panel);
  panel.tell(stop("one"), "ses_other");
  panel.tell(stop("two"));
  expect(panel.page.back).toEqual(["one", "two"]);
  expect(panel.page.owners).toEqual(["ses_other", SESSION]);
});

test("it comes back although the page was hidden before the editor said so", async () => {
  const panel = opened();
  await ready(panel);
  panel.page.view.visible = false;
  panel.tell(stop("one"));
  await new Promise((done) => setTimeout(done));
  panel.page.show(true);
  expect(panel.page.back).toEqual([]);
  await ready(panel);
  expect(panel.page.back).toEqual(["one"]);
});

test("it waits for a page that is hidden", async () => {
  const panel = opened();
  await ready(panel);
  panel.page.show(false);
  panel.tell(stop("one"));
  panel.page.show(true);
  expect(panel.page.back).toEqual([]);
  await ready(panel);
  expect(panel.page.back).toEqual(["one"]);
  await ready(panel);
  expect(panel.page.back).toEqual(["one"]);
});

test("it waits for a page that was closed and moved elsewhere", async () => {
  const panel = opened();
  await ready(panel);
  panel.page.dispose();
  panel.tell(stop("one"));
  const page = new Page();
  panel.resolve(page);
  await ready({ ...panel, page });
  expect(page.back).toEqual(["one"]);
});

/** What an editor keeps for a window, as text: it gives nothing back that it was not told. */
function memory() {
  const texts = new Map<string, string>();
  return {
    texts,
    get: (key: string) => JSON.parse(texts.get(key) ?? "null") as unknown,
    update: (key: string, value: unknown) => {
      if (value === undefined) texts.delete(key);
      else texts.set(key, JSON.stringify(value));
      return Promise.resolve();
    },
  };
}

test("it outlives a reload of the window before the hidden panel is shown again", async () => {
  const kept = memory();
  const before = opened(kept as unknown as Memento);
  await ready(before);
  before.page.show(false);
  before.tell(stop("one", "two"));
  const after = opened(kept as unknown as Memento);
  await ready(after);
  expect(after.page.back).toEqual(["one", "two"]);
  // The page keeps them from here on: they are not there twice.
  expect([...kept.texts.keys()]).toEqual([]);
  const later = opened(kept as unknown as Memento);
  await ready(later);
  expect(later.page.back).toEqual([]);
});

test("so does a prompt that the server did not take", async () => {
  const panel = opened();
  await ready(panel);
  panel.page.said.fire({ type: "prompt", text: "one", whenBusy: "steer" });
  panel.page.show(false);
  await new Promise((done) => setTimeout(done));
  panel.page.show(true);
  await ready(panel);
  expect(panel.page.back).toEqual(["one"]);
});

test("only what the page shows and was read in it counts as read", async () => {
  const { panel, page, ...others } = opened();
  await ready({ panel, page, ...others });
  const is = () => [panel.shownId, panel.isRead("apr_1"), panel.isRead("apr_2")];
  expect(is()).toEqual([null, false, false]);
  page.said.fire({ type: "shown", id: "apr_1", isRead: false });
  expect(is()).toEqual(["apr_1", false, false]);
  page.said.fire({ type: "shown", id: "apr_1", isRead: true });
  expect(is()).toEqual(["apr_1", true, false]);
  page.show(false);
  expect(is()).toEqual([null, false, false]);
});

test("what is to be looked at is told to a page that comes later", async () => {
  const panel = opened();
  const told = panel.panel.attend("apr_1");
  await ready(panel);
  await told;
  expect(panel.page.taken).toContainEqual({ type: "attend", id: "apr_1" });
});

const question: Update = {
  sessionUpdate: "question",
  questionId: "qst_1",
  origin: "ask_user",
  text: "Which?",
  options: [],
  steps: [],
};

test("what waits is counted at the panel's icon only while the panel is hidden", async () => {
  const panel = opened();
  await ready(panel);
  panel.tell(question);
  expect(panel.page.view.badge).toBeUndefined();
  panel.page.show(false);
  expect(panel.page.view.badge).toMatchObject({ value: 1 });
  panel.page.show(true);
  expect(panel.page.view.badge).toBeUndefined();
});

test("what a sub-agent did is asked for, and told under its session", async () => {
  const panel = opened();
  await ready(panel);
  panel.page.said.fire({ type: "transcript", sessionId: "ses_02" });
  panel.snapshots.pop()?.();
  await new Promise((done) => setTimeout(done));
  expect(panel.page.taken.at(-1)).toMatchObject({
    type: "transcript",
    sessionId: "ses_02",
    snapshot: { updates: [] },
  });
});
