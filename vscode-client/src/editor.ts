// What the server asks of this editor, and what this editor tells beyond the standard protocol.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "./server";
import type { EditorDiagnostic, SaveParams, SaveResult, Severity } from "./wire";

const QUIET_MS = 200;
const MAX_PER_FILE = 200;

/** Save the documents that are about to be read from disk. */
export function answerSaving(client: LanguageClient): void {
  client.onRequest("agent/save", async ({ uris }: SaveParams): Promise<SaveResult> => {
    const unsaved: string[] = [];
    for (const uri of uris) {
      const wanted = vscode.Uri.parse(uri).toString();
      const is = (one: { uri: vscode.Uri }): boolean => one.uri.toString() === wanted;
      const document =
        vscode.workspace.textDocuments.find(is) ?? vscode.workspace.notebookDocuments.find(is);
      if (document?.isDirty && !(await document.save())) unsaved.push(uri);
    }
    return { unsaved };
  });
}

/** Tells the server what other language servers say, which the protocol keeps from it. */
export class DiagnosticsForwarder implements vscode.Disposable {
  readonly #server: Server;
  readonly #listeners: vscode.Disposable[];
  readonly #changed = new Map<string, vscode.Uri>();
  /** What was sent last, so that what did not change is not sent again. */
  readonly #sent = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Server) {
    this.#server = server;
    this.#listeners = [
      vscode.languages.onDidChangeDiagnostics(({ uris }) => this.#note(uris)),
      server.onReady(() => {
        this.#sent.clear();
        this.#note(vscode.languages.getDiagnostics().map(([uri]) => uri));
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const one of this.#listeners) one.dispose();
  }

  #note(uris: readonly vscode.Uri[]): void {
    for (const uri of uris) {
      if (uri.scheme === "file") this.#changed.set(uri.toString(), uri);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, QUIET_MS);
  }

  #send(): void {
    if (this.#server.state.is !== "running") return;
    for (const [name, uri] of this.#changed) {
      const diagnostics = foreign(uri, this.#server.client).slice(0, MAX_PER_FILE).map(toWire);
      const text = JSON.stringify(diagnostics);
      const isNew = text !== (this.#sent.get(name) ?? "[]");
      if (!isNew) continue;
      this.#sent.set(name, text);
      const params = {
        uri: this.#server.client?.code2ProtocolConverter.asUri(uri) ?? name,
        diagnostics,
      };
      this.#server.notify("agent/editorDiagnostics", params);
    }
    this.#changed.clear();
  }
}

/** The diagnostics of a file that did not come from our own server. */
function foreign(uri: vscode.Uri, client: LanguageClient | null): vscode.Diagnostic[] {
  const ours = new Set((client?.diagnostics?.get(uri) ?? []).map(fingerprint));
  return vscode.languages.getDiagnostics(uri).filter((one) => !ours.has(fingerprint(one)));
}

function fingerprint({ range, source, message }: vscode.Diagnostic): string {
  return JSON.stringify([range, source, message]);
}

const SEVERITIES: Record<vscode.DiagnosticSeverity, Severity> = {
  [vscode.DiagnosticSeverity.Error]: "error",
  [vscode.DiagnosticSeverity.Warning]: "warning",
  [vscode.DiagnosticSeverity.Information]: "information",
  [vscode.DiagnosticSeverity.Hint]: "hint",
};

/** A diagnostic as the server takes it. */
export function toWire(one: vscode.Diagnostic): EditorDiagnostic {
  const code = typeof one.code === "object" ? one.code.value : one.code;
  return {
    line: one.range.start.line,
    column: one.range.start.character,
    endLine: one.range.end.line,
    endColumn: one.range.end.character,
    message: one.message,
    source: one.source ?? "",
    code: code === undefined ? "" : String(code),
    severity: SEVERITIES[one.severity],
  };
}
