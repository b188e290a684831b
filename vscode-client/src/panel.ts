// The side panel's host: makes the webview, passes on what the server said, does what it asks for.
//
// Holds no truth: a panel that was hidden and comes back is given a snapshot.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Allowing } from "./allowing";
import { chipOf, here, Images, placed, SentChips, watchHere } from "./attach";
import type { Amends } from "./amending";
import type { Conversation } from "./conversation";
import { countWaiting } from "./fold/live";
import { title } from "./fold/state";
import { follow as followLink, openPlace } from "./links";
import {
  type Chip,
  type FromPanel,
  momentId,
  PANEL_COMMANDS,
  type QueuedChange,
  type Restore,
  type Said,
  type ToPanel,
} from "./messages";
import { chooseModel } from "./models";
import { page } from "./page";
import type { Review } from "./review";
import { goBack, sentAgain } from "./rewind";
import type { SetupHost } from "./setup";
import type { Agent } from "./server";
import { message } from "./words";

type Prompt = Omit<Said<"prompt">, "type">;

export const VIEW_ID = "agent-ls.panel";
/** Where the editor keeps prompts that no page has shown yet. */
const UNSENT = "agent-ls.unsentPrompts";
const NOTHING_SHOWN = { id: null, isRead: false };

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #agent: Agent;
  readonly #conversation: Conversation;
  readonly #review: Review;
  readonly #setup: SetupHost;
  readonly #amends: Amends;
  /** The prompts that were sent so far have reached the server. */
  #sending: Promise<void> = Promise.resolve();
  readonly #listeners: vscode.Disposable[];
  readonly #visible = new vscode.EventEmitter<boolean>();
  readonly onVisible = this.#visible.event;
  #view: vscode.WebviewView | null = null;
  #isLoaded = false;
  readonly #memory: vscode.Memento | null;
  /** What must not get lost: said as soon as there is a page to say it to. */
  #kept: ToPanel[];
  /** How many prompts the window's memory holds, for a page after a reload. */
  #remembered: number;
  readonly #images = new Images();
  readonly #sent = new SentChips();
  #completing: vscode.CancellationTokenSource | null = null;
  /** The approval or question that the page shows, and whether its end was seen. */
  #shown: { id: string | null; isRead: boolean } = NOTHING_SHOWN;

  /** `memory` outlives the window; null: nothing does. */
  constructor(
    extension: vscode.Uri,
    agent: Agent,
    conversation: Conversation,
    review: Review,
    setup: SetupHost,
    memory: vscode.Memento | null = null,
    amends: Amends = () => Promise.resolve(false),
  ) {
    this.#amends = amends;
    this.#memory = memory;
    this.#kept = memory?.get<ToPanel[]>(UNSENT) ?? [];
    this.#remembered = this.#kept.length;
    this.#extension = extension;
    this.#agent = agent;
    this.#conversation = conversation;
    this.#review = review;
    this.#setup = setup;
    this.#listeners = [
      agent.onState((server) => this.#post({ type: "server", server })),
      conversation.onSnapshot((snapshot) => this.#post({ type: "snapshot", snapshot })),
      conversation.onUpdates((params) => this.#post({ type: "updates", params })),
      conversation.onReturned(({ sessionId, texts }) => {
        const problem = vscode.l10n.t("Stopped before it was read.");
        const unsent = (text: string) =>
          ({ type: "unsent", sessionId, text, problem, chips: this.#sent.of(text) }) as const;
        this.#deliver(...texts.map(unsent));
      }),
      conversation.onTaken((turns) => this.#post({ type: "taken", turns })),
      conversation.onRefused((problem) => this.#post({ type: "refused", problem })),
      conversation.onConfig((config) => this.#post({ type: "config", config })),
      setup.onChange((state) => this.#post({ type: "setup", setup: state })),
      review.onChange((turns) => this.#post({ type: "review", turns })),
      watchHere((now) => this.#post({ type: "here", here: now })),
      conversation.onChange(() => this.#describe()),
      conversation.onLives(() => this.#describe()),
      vscode.window.registerWebviewViewProvider(VIEW_ID, this),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#forget();
    const dist = vscode.Uri.joinPath(this.#extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((said: FromPanel) =>
      this.#do(said).catch((error: unknown) => vscode.window.showErrorMessage(message(error))),
    );
    // The page of a hidden panel is gone; the next one says that it is ready.
    view.onDidChangeVisibility(() => {
      if (!view.visible && this.#view === view) this.#forget();
      this.#describe();
      this.#visible.fire(view.visible);
    });
    view.onDidDispose(() => {
      if (this.#view !== view) return;
      this.#view = null;
      this.#forget();
      this.#visible.fire(false);
    });
    const file = (name: string) =>
      view.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    const { bundle } = vscode.l10n;
    view.webview.html = page({
      script: file("panel.js"),
      style: file("panel.css"),
      source: view.webview.cspSource,
      nonce: randomBytes(16).toString("base64"),
      ...(bundle && { l10n: { language: vscode.env.language, texts: bundle } }),
    });
    this.#describe();
    this.#visible.fire(view.visible);
  }

  /** Whether the user sees the panel. */
  get isVisible(): boolean {
    return this.#view?.visible ?? false;
  }

  /** Bring the panel up with the cursor in the prompt, and these words before it. */
  async compose(text = ""): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.#deliver({ type: "compose", text });
  }

  /** Bring the panel up with these for the next prompt. */
  async attach(chips: readonly Chip[]): Promise<void> {
    if (!chips.length) return;
    this.#deliver({ type: "attached", chips, problem: "" });
    await this.compose();
  }

  /** Ask at once, with these; while a turn runs, for afterwards. */
  async ask(text: string, chips: readonly Chip[]): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    await this.#prompt({ text, chips, whenBusy: "follow_up", here: "file" });
  }

  /** The approval or question that the page shows; null: none, or there is no page. */
  get shownId(): string | null {
    return this.#shown.id;
  }

  /** Say whether the page shows what waits under this id and its end was seen. */
  isRead(id: string): boolean {
    return this.#shown.id === id && this.#shown.isRead;
  }

  /** Bring the panel up with the cursor in what waits under this id. */
  async attend(id: string): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    this.#deliver({ type: "attend", id });
  }

  /** Bring the panel up with what waits in a session, whichever was shown. */
  async show({ id, sessionId }: Allowing): Promise<void> {
    if (sessionId !== this.#conversation.sessionId) await this.#conversation.open(sessionId);
    await this.attend(id);
  }

  dispose(): void {
    for (const one of this.#listeners) one.dispose();
    this.#visible.dispose();
  }

  /** The page is gone, and what it showed. */
  #forget(): void {
    this.#isLoaded = false;
    this.#shown = NOTHING_SHOWN;
  }

  #post(said: ToPanel): void {
    if (this.#isLoaded) void this.#view?.webview.postMessage(said);
  }

  /** Say what must not get lost, now or when there is a page. */
  #deliver(...said: ToPanel[]): void {
    this.#kept.push(...said);
    for (const one of this.#isLoaded ? this.#kept.splice(0) : []) {
      void this.#view?.webview.postMessage(one).then((isDelivered) => {
        if (isDelivered) return;
        // The page was hidden a moment ago.
        this.#kept.push(one);
        this.#remember();
      });
    }
    this.#remember();
  }

  /** Keep the user's words over a reload of the window; what a page was told, it keeps itself. */
  #remember(): void {
    const words = this.#kept.filter((one) => one.type === "unsent");
    if (!words.length && !this.#remembered) return;
    this.#remembered = words.length;
    void this.#memory?.update(UNSENT, words.length ? words : undefined);
  }

  /** Say on the view's edge which session it shows, and count what waits where it is not seen. */
  #describe(): void {
    if (!this.#view) return;
    const { lives, state } = this.#conversation;
    const all = countWaiting(lives);
    const elsewhere = all - (lives.get(state.sessionId)?.waiting.size ?? 0);
    const count = this.#view.visible ? elsewhere : all;
    const tooltip =
      count === 1
        ? vscode.l10n.t("The agent waits for you")
        : vscode.l10n.t("{0} things wait for you", count);
    this.#view.badge = count ? { value: count, tooltip } : undefined;
    const waits = elsewhere ? [vscode.l10n.t("{0} waiting in other sessions", elsewhere)] : [];
    this.#view.description = [title(state), ...waits].filter(Boolean).join(" · ");
  }

  async #do(said: FromPanel): Promise<void> {
    const sessionId = this.#conversation.sessionId;
    switch (said.type) {
      case "ready":
        this.#isLoaded = true;
        void this.#setup.begin();
        this.#post({ type: "server", server: this.#agent.state });
        this.#post({ type: "setup", setup: this.#setup.state });
        this.#post({ type: "here", here: here() });
        this.#deliver();
        return this.#conversation.refresh();
      case "prompt":
        return this.#prompt(said);
      case "again": {
        if (sessionId === null) return;
        const again = await sentAgain(this.#agent, sessionId, said.turnId);
        return this.#prompt({ ...again, whenBusy: "steer", here: "file" }, sessionId);
      }
      case "rewind":
        return this.#rewind(said);
      case "context":
        return this.#context();
      case "changeQueued":
        return this.#changeQueued(said.change);
      case "compact":
        return void vscode.commands.executeCommand("agent-ls.compactConversation");
      case "openSession":
        return this.#conversation.open(said.sessionId);
      case "continue":
        return this.#conversation.goOn();
      case "complete":
        return this.#complete(said.id, said.text);
      case "drop":
        return this.#drop(said.uris);
      case "image":
        this.#images.keep(said.id, said.data);
        return;
      case "stop":
        return void vscode.commands.executeCommand("agent-ls.stopTurn");
      case "approve": {
        const { approvalId, choice, note, argumentsJson } = said;
        return this.#settle(approvalId, () =>
          this.#agent.request("agent/approval/resolve", {
            sessionId,
            approvalId,
            choice,
            note,
            argumentsJson,
          }),
        );
      }
      case "amend": {
        const { approvalId } = said;
        const isOpen = await this.#amends({ sessionId, approvalId });
        if (!isOpen) this.#post({ type: "amendHere", id: approvalId });
        return;
      }
      case "answer": {
        const { questionId, text } = said;
        return this.#settle(questionId, () =>
          this.#agent.request("agent/question/resolve", { sessionId, questionId, text }),
        );
      }
      case "shown":
        this.#shown = { id: said.id, isRead: said.isRead };
        return;
      case "run":
        if (PANEL_COMMANDS.includes(said.command)) {
          await vscode.commands.executeCommand(`agent-ls.${said.command}`);
        }
        return;
      case "setup":
        return this.#setup.do(said.action);
      case "transcript":
        return this.#transcript(said.sessionId);
      case "decide":
        this.#post({ type: "decided", files: await this.#review.decide(said.asked) });
        return;
      case "diff":
        return this.#review.diff(said.sessionId, said.turnId, said.path);
      case "restore":
        return this.#restore(said);
      case "compare":
        return this.#review.compare(said.path, said.uri, said.wanted);
      case "open":
        return openPlace(said.uri, said.line);
      case "link":
        return followLink(said.href);
      case "copy":
        return vscode.env.clipboard.writeText(said.text);
    }
  }

  /** Prompts reach the server in the order in which they were sent, for the session then shown. */
  #prompt(prompt: Prompt, sessionId = this.#conversation.sessionId): Promise<void> {
    const mine = this.#sending.then(() => this.#send(prompt, sessionId));
    // One that fails holds up no other.
    this.#sending = mine.catch(() => {});
    return mine;
  }

  async #send(
    { text, whenBusy, chips = [], here: choice = "selection" }: Prompt,
    shown: string | null,
  ): Promise<void> {
    await this.#conversation.ready();
    const sessionId = shown ?? this.#conversation.sessionId;
    try {
      const parts = this.#images.parts(chips);
      const params = { text, parts, sessionId, whenBusy, ...placed(choice) };
      await this.#agent.request("agent/prompt", params);
      this.#sent.add(text, chips);
    } catch (error) {
      // A picture that is lost would keep the prompt from ever being sent.
      const left = this.#images.withoutLost(chips);
      this.#deliver({ type: "unsent", sessionId, text, problem: message(error), chips: left });
    }
  }

  /** A prompt that the model got a moment ago is in the transcript; changed words are not lost. */
  async #changeQueued(change: QueuedChange): Promise<void> {
    const { sessionId } = this.#conversation;
    const { text } = change;
    let problem = vscode.l10n.t("It was sent before you changed it.");
    try {
      if ((await this.#agent.request("agent/prompt/change", { sessionId, ...change })).changed)
        return;
    } catch (error) {
      problem = message(error);
    }
    if (text) this.#deliver({ type: "unsent", sessionId, text, problem });
    else void vscode.window.showWarningMessage(problem);
  }

  async #transcript(sessionId: string): Promise<void> {
    const told = { type: "transcript", sessionId } as const;
    try {
      const snapshot = await this.#agent.request("agent/snapshot", { sessionId });
      this.#post({ ...told, snapshot, problem: "" });
    } catch (error) {
      this.#post({ ...told, snapshot: null, problem: message(error) });
    }
  }

  async #context(): Promise<void> {
    const { sessionId } = this.#conversation;
    if (sessionId === null) return;
    try {
      const context = await this.#agent.request("agent/context", { sessionId });
      this.#post({ type: "context", context, problem: "" });
    } catch (error) {
      this.#post({ type: "context", context: null, problem: message(error) });
    }
  }

  /** Only the newest request counts; what was typed before is of no interest. */
  async #complete(id: number, text: string): Promise<void> {
    this.#completing?.cancel();
    const source = (this.#completing = new vscode.CancellationTokenSource());
    const nothing = { word: "", rows: [], isIncomplete: false };
    const result = await this.#agent
      .request("agent/complete", { text }, source.token)
      .catch(() => nothing);
    if (source === this.#completing) this.#post({ type: "completed", id, result });
  }

  async #drop(uris: readonly string[]): Promise<void> {
    const chips: Chip[] = [];
    const problems: string[] = [];
    for (const uri of uris) {
      try {
        chips.push(await chipOf(vscode.Uri.parse(uri, true)));
      } catch (error) {
        problems.push(message(error));
      }
    }
    this.#deliver({ type: "attached", chips, problem: problems.join(" ") });
  }

  async #restore({ sessionId, moment, isTrial }: Said<"restore">): Promise<void> {
    let restore: Restore;
    try {
      const files = await this.#review.restore(sessionId, moment, isTrial);
      restore = { is: isTrial ? "foreseen" : "done", files };
    } catch (error) {
      restore = { is: "failed", problem: message(error) };
    }
    this.#post({ type: "restore", momentId: momentId(moment), restore });
  }

  async #rewind(said: Said<"rewind">): Promise<void> {
    const { sessionId, turnId, then, isOtherModel } = said;
    const { state } = this.#conversation;
    const from = { sessionId, title: title(state) };
    try {
      const chosen = isOtherModel ? await chooseModel(this.#agent, state.model) : null;
      if (chosen === undefined) {
        // The card may be used again.
        this.#post({ type: "notRewound", turnId, problem: "" });
        return;
      }
      const parts = {
        agent: this.#agent,
        conversation: this.#conversation,
        review: this.#review,
      };
      const { text, chips, files, ...fork } = await goBack(parts, said, chosen && chosen.model);
      this.#deliver({ type: "rewound", sessionId: fork.sessionId, from });
      if (files.length) this.#post({ type: "decided", files });
      if (then === "edit") this.#deliver({ type: "compose", text, chips });
      else await this.#prompt({ text, chips, whenBusy: "steer", here: "file" }, fork.sessionId);
    } catch (error) {
      this.#post({ type: "notRewound", turnId, problem: message(error) });
    }
  }

  async #settle(id: string, ask: () => Promise<{ settled: boolean }>): Promise<void> {
    try {
      const { settled } = await ask();
      const problem = vscode.l10n.t("This was already settled.");
      if (!settled) this.#post({ type: "unsettled", id, problem });
    } catch (error) {
      this.#post({ type: "unsettled", id, problem: message(error) });
    }
  }
}
