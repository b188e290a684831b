// Texts in the user's language, for code that cannot ask the editor: the panel's page, what the page
// and the extension share, and modules that know no editor. Others call `vscode.l10n.t`.
//
// English is the key and the default. The table is the editor's own bundle of this extension,
// `l10n/bundle.l10n.de.json`; the page is handed it with its document.

export type Texts = Readonly<Record<string, string>>;

let texts: Texts = {};
let spoken = "en";

/** Answer with these texts of a language from now on; what they lack stays English. */
export function speak(found: Texts, language: string): void {
  texts = found;
  spoken = language;
}

/** The language of the texts, for dates. */
export function language(): string {
  return spoken;
}

/** The text in the user's language, its `{0}`, `{1}`, … replaced as `vscode.l10n.t` does it. */
export function t(text: string, ...values: readonly (string | number)[]): string {
  return (texts[text] ?? text).replace(/\{(\d+)\}/g, (hole, at: string) =>
    String(values[Number(at)] ?? hole),
  );
}

/** The text for one thing, or the one for any other number of them; `{0}` is the number. */
export function plural(
  value: number,
  one: string,
  many: string,
  ...more: readonly (string | number)[]
): string {
  return t(value === 1 ? one : many, value, ...more);
}
