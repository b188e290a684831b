// The Sessions view: those that wait, those that work and the others, with what can be done to each.
//
// Holds the server's list of stored sessions and asks for it anew when something may have changed it;
// what sessions do right now comes from the conversation.
import * as vscode from "vscode";
import { type Conversation, isHeld } from "./conversation";
import type { Lives } from "./fold/live";
import type { Agent } from "./server";
import { detail, iconOf, name } from "./session_words";
import { chosen } from "./settings";
import type { SessionRow, SessionsListParams, Update } from "./wire";
import { message } from "./words";

const VIEW = "agent-ls.sessions";
const SETTLE_MS = 200;

/** After these the list may be another one. */
const CHANGING: ReadonlySet<Update["sessionUpdate"]> = new Set<Update["sessionUpdate"]>([
  "session_created",
  "turn_started",
  "turn_ended",
]);

const GROUPS = ["Waiting", "Running", "Recent", "Other folders", "Archived"] as const;
type Group = (typeof GROUPS)[number];
const GROUP_NAMES: Record<Group, string> = {
  Waiting: vscode.l10n.t("Waiting"),
  Running: vscode.l10n.t("Running"),
  Recent: vscode.l10n.t("Recent"),
  "Other folders": vscode.l10n.t("Other folders"),
  Archived: vscode.l10n.t("Archived"),
};

/** A turn of a session, with the sub-agents that it started. */
interface Turn {
  sessionId: string;
  turnId: string;
  prompt: string;
  agents: readonly SessionRow[];
}

type Node = Group | SessionRow | Turn;

const CLOSED_AT_FIRST: readonly Group[] = ["Other folders", "Archived"];

/** Which group a session belongs to. */
export function groupOf(row: SessionRow, lives: Lives): Group {
  const live = lives.get(row.sessionId);
  if (live?.waiting.size) return "Waiting";
  if (live?.isRunning || isElsewhere(row)) return "Running";
  if (row.isArchived) return "Archived";
  return row.isHere ? "Recent" : "Other folders";
}

/** Says whether another process of this folder works in the session. */
export function isElsewhere(row: SessionRow): boolean {
  const isUnfinished = row.status === "running" || row.status === "waiting";
  return row.isHere && isUnfinished && !row.isOpen && !row.isInterrupted;
}

export class Sessions implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #agent: Agent;
  readonly #conversation: Conversation;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #view: vscode.TreeView<Node>;
  readonly #listeners: vscode.Disposable[];
  readonly onDidChangeTreeData = this.#changed.event;
  #rows: readonly SessionRow[] = [];
  /** Words that the listed sessions have; empty: all are listed. */
  #query = "";
  #timer: NodeJS.Timeout | null = null;

  constructor(agent: Agent, conversation: Conversation) {
    this.#agent = agent;
    this.#conversation = conversation;
    this.#view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
    this.#listeners = [
      this.#view,
      this.#view.onDidChangeVisibility(({ visible }) => visible && this.#soon()),
      agent.onState(() => this.#soon()),
      agent.onUpdate(({ updates }) => {
        if (updates.some((one) => CHANGING.has(one.sessionUpdate))) this.#soon();
      }),
      conversation.onSnapshot(() => this.#soon()),
      conversation.onLives(() => this.#changed.fire(undefined)),
      ...this.#commands(),
    ];
  }

  dispose(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const one of this.#listeners) one.dispose();
    this.#changed.dispose();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) return GROUPS.filter((group) => this.#of(group).length > 0);
    if (typeof node === "string") return this.#of(node);
    if ("agents" in node) return [...node.agents];
    const { sessions } = await this.#list({ parentId: node.sessionId });
    return underTurns(node.sessionId, sessions);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (typeof node === "string") return this.#groupItem(node);
    return "agents" in node ? turnItem(node) : this.#rowItem(node);
  }

  /** Ask for the list now; never rejects. */
  async refresh(): Promise<void> {
    if (this.#agent.state.is === "running") {
      try {
        const query = this.#query;
        const { sessions } = await this.#list({ query, everywhere: true, withArchived: true });
        if (query !== this.#query) return;
        this.#rows = sessions;
        const count = sessions.length;
        const found =
          count === 1
            ? vscode.l10n.t("“{0}” is in 1 session", query)
            : vscode.l10n.t("“{0}” is in {1} sessions", query, count);
        this.#view.message = query ? found : "";
      } catch (error) {
        this.#view.message = message(error);
      }
    } else {
      this.#rows = [];
    }
    this.#changed.fire(undefined);
  }

  #list(asked: SessionsListParams) {
    return this.#agent.request("agent/sessions/list", asked);
  }

  #of(group: Group): SessionRow[] {
    return this.#rows.filter((row) => groupOf(row, this.#conversation.lives) === group);
  }

  #soon(): void {
    if (!this.#view.visible) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.refresh();
    }, SETTLE_MS);
  }

  #groupItem(group: Group): vscode.TreeItem {
    const isOpen = this.#query !== "" || !CLOSED_AT_FIRST.includes(group);
    const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(GROUP_NAMES[group], isOpen ? Expanded : Collapsed);
    // Another id while something is searched for: the editor keeps what was open by the id.
    item.id = this.#query ? `${group} found` : group;
    item.description = `${this.#of(group).length}`;
    return item;
  }

  #rowItem(row: SessionRow): vscode.TreeItem {
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(name(row), row.subAgents ? Collapsed : None);
    const live = this.#conversation.lives.get(row.sessionId);
    const isShown = row.sessionId === this.#conversation.sessionId;
    const origin = this.#rows.find((one) => one.sessionId === row.forkedFrom);
    const words = isElsewhere(row) ? vscode.l10n.t("in another window") : detail(row, live, origin);
    item.id = row.sessionId;
    item.description = words;
    item.iconPath = new vscode.ThemeIcon(iconOf(row, live, isShown));
    const waiting = [...(live?.waiting.values() ?? [])].map((one) =>
      vscode.l10n.t("Waits for you: {0}", one.words),
    );
    item.tooltip = [name(row), words, ...waiting, row.found].filter(Boolean).join("\n");
    item.contextValue = row.agent ? "subAgent" : row.isArchived ? "archived" : "session";
    const label = [name(row), words, isShown ? vscode.l10n.t("shown now") : ""];
    item.accessibilityInformation = { label: label.filter(Boolean).join(", ") };
    const title = vscode.l10n.t("Open");
    item.command = { command: "agent-ls.openSession", title, arguments: [row] };
    return item;
  }

  #commands(): vscode.Disposable[] {
    const commands: Record<string, (row: SessionRow) => Promise<unknown>> = {
      renameSession: (row) => this.#rename(row),
      forkSession: (row) => this.#fork(row),
      archiveSession: (row) => this.#archive(row, true),
      unarchiveSession: (row) => this.#archive(row, false),
      deleteSession: (row) => this.#delete(row),
      exportSession: (row) => this.#export(row),
    };
    return [
      ...Object.entries(commands).map(([command, run]) =>
        register(command, async (row?: SessionRow) => run(row ?? (await this.#shown()))),
      ),
      register("openSession", async (row?: SessionRow) =>
        row ? this.#open(row) : vscode.commands.executeCommand("agent-ls.pickSession"),
      ),
      register("openWaiting", () => this.#openWaiting()),
      register("searchSessions", () => this.#search()),
      register("clearSessionSearch", () => this.#searchFor("")),
    ];
  }

  /** The session that is shown, for commands that name none. */
  async #shown(): Promise<SessionRow> {
    const { sessionId } = this.#conversation;
    const { sessions } = await this.#list({ withArchived: true });
    const row = sessions.find((one) => one.sessionId === sessionId);
    if (!row) throw new Error(vscode.l10n.t("Nothing has been said in this session yet."));
    return row;
  }

  async #open(row: SessionRow): Promise<void> {
    if (!row.isHere && !row.agent) return openFolders(row);
    try {
      await this.#conversation.open(row.sessionId);
    } catch (error) {
      if (!isHeld(error)) throw error;
      throw new Error(vscode.l10n.t("“{0}” is open in another window.", name(row)));
    }
    await vscode.commands.executeCommand("agent-ls.openPanel");
  }

  /** Open the session in which something waits for the longest time. */
  async #openWaiting(): Promise<void> {
    const waiting = [...this.#conversation.lives].find(([, live]) => live.waiting.size > 0);
    if (waiting) await this.#conversation.open(waiting[0]);
    await vscode.commands.executeCommand("agent-ls.openPanel");
  }

  async #rename(row: SessionRow): Promise<void> {
    const title = await vscode.window.showInputBox({
      title: vscode.l10n.t("Rename the session"),
      value: name(row),
      validateInput: (text) => (text.trim() ? undefined : vscode.l10n.t("A session needs a name")),
    });
    if (title === undefined) return;
    await this.#agent.request("agent/sessions/rename", { sessionId: row.sessionId, title });
    if (row.sessionId === this.#conversation.sessionId) await this.#conversation.refresh();
    await this.refresh();
  }

  async #fork(row: SessionRow): Promise<void> {
    await this.#agent.request("agent/sessions/fork", { sessionId: row.sessionId, turn: null });
    await this.#conversation.refresh();
    await vscode.commands.executeCommand("agent-ls.openPanel");
  }

  async #archive(row: SessionRow, isArchived: boolean): Promise<void> {
    await this.#agent.request("agent/sessions/archive", { sessionId: row.sessionId, isArchived });
    await this.refresh();
  }

  async #delete(row: SessionRow): Promise<void> {
    const yes = vscode.l10n.t("Delete");
    const answer = await vscode.window.showWarningMessage(
      vscode.l10n.t("Delete “{0}” for good?", name(row)),
      {
        modal: true,
        detail: row.subAgents
          ? vscode.l10n.t(
              "Its conversation, those of its sub-agents and what is needed to undo its changes are removed. Your files stay as they are. This cannot be undone.",
            )
          : vscode.l10n.t(
              "Its conversation and what is needed to undo its changes are removed. Your files stay as they are. This cannot be undone.",
            ),
      },
      yes,
    );
    if (answer !== yes) return;
    await this.#agent.request("agent/sessions/delete", { sessionId: row.sessionId });
    if (row.sessionId === this.#conversation.sessionId) {
      await this.#agent.request("agent/sessions/new", chosen());
      await this.#conversation.refresh();
    }
    await this.refresh();
  }

  async #export(row: SessionRow): Promise<void> {
    const { sessionId } = row;
    const { markdown } = await this.#agent.request("agent/sessions/export", { sessionId });
    const document = await vscode.workspace.openTextDocument({
      language: "markdown",
      content: markdown,
    });
    await vscode.window.showTextDocument(document);
  }

  async #search(): Promise<void> {
    const query = await vscode.window.showInputBox({
      title: vscode.l10n.t("Search in sessions"),
      prompt: vscode.l10n.t("Words of titles, prompts and answers; all must be there"),
      value: this.#query,
    });
    if (query === undefined) return;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    await this.#searchFor(query.trim());
  }

  async #searchFor(query: string): Promise<void> {
    this.#query = query;
    void vscode.commands.executeCommand("setContext", "agent-ls.searchingSessions", query !== "");
    await this.refresh();
  }
}

/** Sub-agents under the turns that started them, in order; one whose turn is not known by itself. */
export function underTurns(
  sessionId: string,
  agents: readonly SessionRow[],
): (SessionRow | Turn)[] {
  const turns = new Map<string, SessionRow[]>();
  const nodes: (SessionRow | Turn)[] = [];
  for (const row of agents) {
    const { turnId, turnPrompt: prompt } = row;
    const known = turns.get(turnId);
    if (known) {
      known.push(row);
    } else if (turnId) {
      const mine = [row];
      turns.set(turnId, mine);
      nodes.push({ sessionId, turnId, prompt, agents: mine });
    } else {
      nodes.push(row);
    }
  }
  return nodes;
}

function turnItem({ sessionId, turnId, prompt, agents }: Turn): vscode.TreeItem {
  const item = new vscode.TreeItem(prompt, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `${sessionId} ${turnId}`;
  item.description =
    agents.length === 1
      ? vscode.l10n.t("1 sub-agent")
      : vscode.l10n.t("{0} sub-agents", agents.length);
  item.iconPath = new vscode.ThemeIcon("comment");
  item.contextValue = "turn";
  return item;
}

/** A session belongs to its folders: it goes on in a window that has them. */
async function openFolders(row: SessionRow): Promise<void> {
  const [folder, ...others] = row.roots;
  if (!folder || others.length) {
    throw new Error(
      vscode.l10n.t("“{0}” belongs to other folders: open them in a window first.", name(row)),
    );
  }
  const uri = vscode.Uri.parse(folder);
  await vscode.commands.executeCommand("vscode.openFolder", uri, { forceNewWindow: true });
}

function register(command: string, run: (row?: SessionRow) => Promise<unknown>): vscode.Disposable {
  return vscode.commands.registerCommand(`agent-ls.${command}`, async (row?: SessionRow) => {
    try {
      await run(row);
    } catch (error) {
      void vscode.window.showErrorMessage(message(error));
    }
  });
}
