// The user's keys for models, in the editor's secret storage and nowhere else.
//
// They reach the server as variables of its environment, when it starts. A key that is stored here
// counts more than one in the editor's own environment: it was given later, and to us.
import type { SecretStorage } from "vscode";
import { t } from "./l10n";
import { message } from "./words";

/** All keys are one secret, by the names of their variables: the storage lists nothing. */
const SECRET = "agent-ls.keys";
/** The only variables that are set: a model's name must not choose any other. */
const KEY_VARIABLE = /^[A-Z0-9_-]+_API_KEY$/;

export class Keys {
  readonly #secrets: SecretStorage;
  readonly #onProblem: (words: string) => void;

  /** `onProblem` is told, without any key, what goes wrong with the storage. */
  constructor(secrets: SecretStorage, onProblem: (words: string) => void) {
    this.#secrets = secrets;
    this.#onProblem = onProblem;
  }

  /** The keys by their variables; none where the storage cannot be read. */
  async all(): Promise<Record<string, string>> {
    try {
      return known(JSON.parse((await this.#secrets.get(SECRET)) ?? "{}"));
    } catch (error) {
      // The words of a parser would show a part of what it read.
      const why = error instanceof SyntaxError ? "it is damaged" : message(error);
      this.#onProblem(`the editor's secret storage cannot be read: ${why}`);
      return {};
    }
  }

  /** Errors: an `Error` for a key that is none, a variable that is none, or a storage that fails. */
  async store(variable: string, key: string): Promise<void> {
    if (!KEY_VARIABLE.test(variable)) throw new Error(t("{0} holds no key.", variable));
    const given = key.trim();
    if (!given) throw new Error(t("The key is empty."));
    if (/\s/.test(given)) throw new Error(t("A key has no space inside: copy it once more."));
    await this.#secrets.store(SECRET, JSON.stringify({ ...(await this.all()), [variable]: given }));
  }

  /** Forget all keys; answers the names of their variables. */
  async forget(): Promise<string[]> {
    const names = Object.keys(await this.all());
    await this.#secrets.delete(SECRET);
    return names;
  }

  /** Whether a change of the storage is one of our keys. */
  static isChanged(event: { key: string }): boolean {
    return event.key === SECRET;
  }
}

function known(found: unknown): Record<string, string> {
  if (typeof found !== "object" || found === null) return {};
  return Object.fromEntries(
    Object.entries(found).filter(
      (entry): entry is [string, string] =>
        KEY_VARIABLE.test(entry[0]) && typeof entry[1] === "string",
    ),
  );
}
