// As much of the editor's module as the panel's host uses, for tests outside the editor.

type Listener<T> = (value: T) => unknown;

export class EventEmitter<T> {
  readonly #listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const one of this.#listeners) one(value);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

const nothing = { dispose: () => undefined };

export const env = { language: "en" };
/** English, as where no bundle was loaded. */
export const l10n = {
  bundle: undefined as Record<string, string> | undefined,
  t: (text: string, ...values: (string | number)[]) =>
    text.replace(/\{(\d+)\}/g, (hole, at: string) => String(values[Number(at)] ?? hole)),
};

export class Disposable {
  constructor(readonly dispose: () => void) {}
}
export const Uri = { joinPath: (...parts: unknown[]) => parts.join("/") };
/** What commands do that the parts registered, by name. */
export const registered = new Map<string, (...words: never[]) => unknown>();
export const commands = {
  executeCommand: () => Promise.resolve(),
  registerCommand: (name: string, run: (...words: never[]) => unknown) => {
    registered.set(name, run);
    return nothing;
  },
};
export const workspace = {
  onDidChangeWorkspaceFolders: () => nothing,
  getConfiguration: () => ({
    get: (_name: string, usual?: unknown) => usual,
    inspect: () => undefined,
  }),
  workspaceFolders: [] as { uri: unknown }[],
  fs: { stat: (uri: unknown) => Promise.reject(new Error(`there is no file ${String(uri)}`)) },
};
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState: number,
  ) {}
}
export class ThemeIcon {
  constructor(readonly id: string) {}
}
const register = (filter: unknown, provider: unknown) => ({ ...nothing, filter, provider });
export const languages = {
  registerCodeActionsProvider: register,
  onDidChangeDiagnostics: () => nothing,
  getDiagnostics: () => [],
};
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export class CancellationTokenSource {
  token = {};
  cancel(): void {}
}
export const window = {
  activeTextEditor: undefined,
  onDidChangeTextEditorSelection: () => nothing,
  onDidChangeActiveTextEditor: () => nothing,
  registerWebviewViewProvider: () => nothing,
  showErrorMessage: (): Promise<unknown> => Promise.resolve(),
  showWarningMessage: (): Promise<unknown> => Promise.resolve(),
  showInputBox: (): Promise<unknown> => Promise.resolve(),
  createTreeView: () => ({
    visible: true,
    message: undefined,
    onDidChangeVisibility: () => nothing,
    dispose: () => undefined,
  }),
};

export class Range {
  constructor(
    readonly line: number,
    readonly column: number,
    readonly lastLine: number,
    readonly lastColumn: number,
  ) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
