// The server process and the talk with it: started, restarted a few times, spoken to in types.
//
// Owns the language client. Knows the protocol's methods only by name; what they mean is the
// business of those who ask.
import type { ChildProcess } from "node:child_process";
import * as vscode from "vscode";
import {
  State as ClientState,
  CloseAction,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";
import { findServer, type Launch, NoServerError } from "./launch";
import type { Misfit, ServerState } from "./messages";
import { ServerProcess } from "./process";
import { forServer, setArguments } from "./settings";
import type { AgentNotifications, AgentRequests, UpdateParams } from "./wire";
import { PROTOCOL_VERSION } from "./wire";
import { misfit } from "./versions";
import { message } from "./words";

const MAX_RESTARTS = 3;
const RESTART_WINDOW_MS = 3 * 60_000;
const MAX_ERRORS = 3;
/** How long a server may take to end after it was told to, or after its pipes broke. */
const END_LIMIT_MS = 2_000;

/** What the rest of the extension needs of the server. */
export interface Agent {
  readonly onUpdate: vscode.Event<UpdateParams>;
  readonly onState: vscode.Event<ServerState>;
  readonly state: ServerState;
  request<M extends keyof AgentRequests>(
    method: M,
    params: AgentRequests[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<AgentRequests[M]["result"]>;
}

/** What a server of this extension is started with. */
export interface Surroundings {
  /** The extension's own version. */
  version: string;
  /** The interpreter of the private environment; empty when there is none. */
  privatePython: () => Promise<string>;
  /** A command of the server's that a menu runs is not to reach it now. */
  isHeldBack: (command: string, args: readonly unknown[]) => boolean;
  /** The user's keys, by the names of their variables. */
  keys: () => Promise<Record<string, string>>;
}

/** `ServerCancelled`, as docs/protocol.md says. */
const COME_AGAIN = -32802;
const MAX_TRIES = 20;

/** The server, from its first use until the window closes. */
export class Server implements Agent, vscode.Disposable {
  readonly #update = new vscode.EventEmitter<UpdateParams>();
  readonly #changed = new vscode.EventEmitter<ServerState>();
  readonly #ready = new vscode.EventEmitter<void>();
  readonly #prepare: (client: LanguageClient) => void;
  readonly #surroundings: Surroundings;
  readonly onUpdate = this.#update.event;
  readonly onState = this.#changed.event;
  /** The server has just come up, perhaps again. */
  readonly onReady = this.#ready.event;
  readonly log = vscode.window.createOutputChannel("Agent LS", { log: true });
  #state: ServerState = { is: "stopped" };
  #client: LanguageClient | null = null;
  #crashes: number[] = [];
  #process: ServerProcess | null = null;
  #launch: Launch | null = null;
  #queue: Promise<void> = Promise.resolve();

  /** `prepare` gets each client before it starts, to answer what the server will ask. */
  constructor(prepare: (client: LanguageClient) => void, surroundings: Surroundings) {
    this.#prepare = prepare;
    this.#surroundings = surroundings;
  }

  get state(): ServerState {
    return this.#state;
  }

  get client(): LanguageClient | null {
    return this.#client;
  }

  /** How the server was started last; null before the first time. */
  get launch(): Launch | null {
    return this.#launch;
  }

  /** Start it unless it was started before; never rejects: how it went is in the state. */
  async start(): Promise<void> {
    if (this.#state.is !== "stopped") return this.#queue;
    // At once, so that nobody else starts it and nothing is shown of a server that is stopped.
    this.#become({ is: "starting" });
    return this.restart();
  }

  /** Start it anew if it was in use. */
  async renew(): Promise<void> {
    if (this.#state.is !== "stopped") await this.restart();
  }

  /** Start it, or start it anew; never rejects: how it went is in the state. */
  restart(): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      await this.#stop();
      this.#crashes = [];
      await this.#start();
    });
    return this.#queue;
  }

  /**
   * Ask again as long as the server opens its sessions under changed settings; it waits before it
   * says so, and has done nothing.
   *
   * Errors: what the server answers; an `Error` for a user when it does not run.
   */
  async request<M extends keyof AgentRequests>(
    method: M,
    params: AgentRequests[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<AgentRequests[M]["result"]> {
    const client = this.#client;
    if (!client || this.#state.is !== "running") {
      throw new Error(vscode.l10n.t("The agent server does not run."));
    }
    for (let tries = 1; ; tries++) {
      try {
        // Given as undefined, a token would be taken for a second parameter.
        return await (token
          ? client.sendRequest<AgentRequests[M]["result"]>(method, params, token)
          : client.sendRequest<AgentRequests[M]["result"]>(method, params));
      } catch (error) {
        const isComingAgain = (error as { code?: unknown }).code === COME_AGAIN;
        if (!isComingAgain || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Let the server read the editor's settings anew. */
  configurationChanged(): void {
    if (this.#state.is !== "running") return;
    void this.#client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
  }

  /** Tell the server something; lost when it does not run. */
  notify<M extends keyof AgentNotifications>(
    method: M,
    params: AgentNotifications[M]["params"],
  ): void {
    if (this.#state.is === "running") void this.#client?.sendNotification(method, params);
  }

  async stop(): Promise<void> {
    this.#queue = this.#queue.then(() => this.#stop());
    await this.#queue;
  }

  dispose(): void {
    for (const emitter of [this.#update, this.#changed, this.#ready]) emitter.dispose();
    this.log.dispose();
  }

  #become(state: ServerState): void {
    this.#state = state;
    this.#changed.fire(state);
  }

  async #start(): Promise<void> {
    this.#become({ is: "starting" });
    try {
      const client = new PatientClient("agent-ls", "Agent LS", () => this.#spawn(), {
        documentSelector: [
          { scheme: "file" },
          { scheme: "untitled" },
          { notebook: { scheme: "file", notebookType: "jupyter-notebook" } },
        ],
        initializationOptions: { agent: { version: PROTOCOL_VERSION } },
        middleware: {
          workspace: { configuration: forServer },
          executeCommand: (command, args: unknown[], next): unknown =>
            this.#surroundings.isHeldBack(command, args) ? undefined : next(command, args),
        },
        outputChannel: this.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        errorHandler: this.#errorHandler(),
        // What goes wrong at the start is told once, by us.
        initializationFailedHandler: () => false,
        stdioOptions: { stdout: () => {}, stderr: (stream) => this.#process?.listen(stream) },
      });
      client.registerFeature(OPT_IN);
      client.onNotification("agent/update", (params: UpdateParams) => this.#update.fire(params));
      client.onDidChangeState(({ newState }) => {
        if (newState === ClientState.Running) {
          this.#become(this.#running(client));
          this.#ready.fire();
        }
      });
      this.#prepare(client);
      this.#client = client;
      await client.start();
    } catch (error) {
      await this.#fail(error);
    }
  }

  #running(client: LanguageClient): ServerState {
    const { serverInfo, capabilities } = client.initializeResult ?? {};
    const { agent } = (capabilities?.experimental ?? {}) as { agent?: { version?: number } };
    const version = serverInfo?.version ?? "";
    const words = misfit(this.#surroundings.version, {
      server: version,
      protocol: agent?.version ?? null,
    });
    const canUpdate = this.#launch?.from === "private";
    const told: { misfit?: Misfit } = words ? { misfit: { words, canUpdate } } : {};
    return { is: "running", version, ...told };
  }

  async #stop(): Promise<void> {
    const [client, process] = [this.#client, this.#process];
    this.#client = null;
    this.#process = null;
    if (!client) return;
    if (this.#state.is !== "starting") this.#become({ is: "stopped" });
    await client.dispose().catch((error: unknown) => this.log.debug(`stopping: ${message(error)}`));
    await process?.endOrKill(END_LIMIT_MS);
  }

  async #spawn(): Promise<ChildProcess> {
    const settings = vscode.workspace.getConfiguration("agent-ls");
    this.#launch = await findServer(
      {
        serverCommand: settings.get<string[]>("serverCommand", []),
        python: settings.get<string>("python", "").trim(),
        privatePython: await this.#surroundings.privatePython(),
      },
      process.env,
    );
    const { command, args } = this.#launch;
    const launch = { command, args: [...args, ...setArguments()] };
    const keys = await this.#surroundings.keys();
    const names = Object.keys(keys).join(", ");
    this.log.info(`starting ${[command, ...launch.args].join(" ")}${names && ` with ${names}`}`);
    this.#process = await ServerProcess.start(launch, (line) => this.log.info(line), keys);
    return this.#process.child;
  }

  #errorHandler(): ErrorHandler {
    return {
      error: (_error, _message, count) => ({
        action: count && count <= MAX_ERRORS ? ErrorAction.Continue : ErrorAction.Shutdown,
        handled: true,
      }),
      closed: () => {
        const now = Date.now();
        const recent = this.#crashes.filter((at) => now - at < RESTART_WINDOW_MS);
        this.#crashes = [...recent, now];
        if (this.#state.is === "running" && recent.length < MAX_RESTARTS) {
          this.log.warn("the server ended unexpectedly and is started again");
          this.#become({ is: "starting" });
          return { action: CloseAction.Restart, handled: true };
        }
        void this.#fail(new Error(vscode.l10n.t("The agent server ended unexpectedly.")));
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    };
  }

  async #fail(error: unknown): Promise<void> {
    this.log.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const [problem, advice] = await this.#explain(error);
    if (this.#state.is === "failed") return;
    const missing =
      error instanceof NoServerError
        ? { missing: error.isSetting ? ("setting" as const) : ("server" as const) }
        : {};
    this.#become({ is: "failed", problem, advice, ...missing });
  }

  /** What went wrong, and what to do, for a user. */
  async #explain(error: unknown): Promise<[string, string]> {
    if (error instanceof NoServerError) return [error.message, error.advice];
    const process = this.#process;
    const how = await process?.end(END_LIMIT_MS);
    const words = process?.lastWords;
    const problem = how ?? message(error);
    return [
      words ? vscode.l10n.t("{0} Its last words: {1}", problem, words) : problem,
      vscode.l10n.t("The log says more. Restart the server when the cause is gone."),
    ];
  }
}

/** A client that takes no offence at a server that dies before it has started, and only logs that. */
class PatientClient extends LanguageClient {
  override error(words: string, data?: unknown): void {
    // The library forces a message on the user where a start fails, which the panel tells.
    super.error(words, data, false);
  }

  override async start(): Promise<void> {
    const started = super.start();
    // The library forgets its own promise when the connection closes: who asks again holds it, too.
    super.start().catch(() => {});
    await started;
  }

  override async stop(timeout?: number): Promise<void> {
    if (this.state !== ClientState.Starting) await super.stop(timeout);
  }
}

/** Says that we understand the agent's own messages. */
const OPT_IN: StaticFeature = {
  fillClientCapabilities(capabilities) {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...experimental, agent: { version: PROTOCOL_VERSION } };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};
