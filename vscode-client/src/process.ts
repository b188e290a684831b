// One process of the server: its start, its last words, and its certain end.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { homedir } from "node:os";
import { t } from "./l10n";
import type { Launch } from "./launch";

const KEPT_LINES = 8;

export class ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when it has ended and all it said has been read: a sentence that says how. */
  readonly ended: Promise<string>;
  #said: string[] = [];
  #rest = "";

  /**
   * Start it; `keys` are variables that it gets besides those of the editor.
   *
   * Errors: when there is no such program after all.
   */
  static async start(
    launch: Pick<Launch, "command" | "args">,
    onLine: (line: string) => void,
    keys: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    // Not the opened folder: nothing in there may be taken for a part of the server.
    const env = { ...process.env, ...keys };
    const options = { cwd: homedir(), env, windowsHide: true } as const;
    const child = spawn(launch.command, [...launch.args], options);
    await new Promise<void>((done, fail) => {
      child.once("spawn", done);
      child.once("error", fail);
    });
    return new ServerProcess(child, onLine);
  }

  private constructor(
    child: ChildProcessWithoutNullStreams,
    readonly onLine: (line: string) => void,
  ) {
    this.child = child;
    this.ended = new Promise((done) => {
      child.once("close", (code, signal) =>
        done(
          signal
            ? t("The agent server ended with signal {0}.", signal)
            : t("The agent server ended with exit code {0}.", String(code)),
        ),
      );
    });
    // A pipe that breaks is noticed as a closed connection; as an event it would end the host.
    child.stdin.on("error", () => {});
  }

  /** What it last said on standard error; empty when it said nothing. */
  get lastWords(): string {
    return [...this.#said, this.#rest].findLast((line) => line.trim())?.trim() ?? "";
  }

  /** Read what it says on standard error, line by line. */
  listen(stream: NodeJS.ReadableStream): void {
    stream.on("data", (data: Buffer | string) => {
      const lines = (this.#rest + data.toString()).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.onLine(line);
      this.#said = [...this.#said, ...lines].slice(-KEPT_LINES);
    });
  }

  /** How it ended, in a sentence; null when it still runs after the limit. */
  async end(limitMs: number): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((done) => {
      timer = setTimeout(() => done(null), limitMs);
    });
    const how = await Promise.race([this.ended, late]);
    clearTimeout(timer);
    return how;
  }

  /** Wait for its end, and bring it about after the limit. */
  async endOrKill(limitMs: number): Promise<void> {
    if ((await this.end(limitMs)) === null) this.child.kill("SIGKILL");
  }
}
