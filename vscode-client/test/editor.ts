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

export const Uri = { joinPath: (...parts: unknown[]) => parts.join("/") };
export const commands = { executeCommand: () => Promise.resolve() };
export const workspace = { onDidChangeWorkspaceFolders: () => nothing };
export const window = {
  activeTextEditor: undefined,
  onDidChangeActiveTextEditor: () => nothing,
  registerWebviewViewProvider: () => nothing,
  showErrorMessage: () => Promise.resolve(),
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
