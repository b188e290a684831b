// Numbers and texts as a user reads them in a narrow panel.
import { words } from "../fold/reduce";
import type { CallItem } from "../fold/state";
import { t } from "../l10n";
import type { JsonValue, Mode, ModelRow } from "../wire";

/** 950, 12.3k, 1.2M. */
export function count(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 999_500) return `${trim(value / 1_000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

function trim(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, "");
}

/** $0.0042, $0.31, $12.50; empty for nothing. */
export function money(usd: number): string {
  if (usd <= 0) return "";
  if (usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2).replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** `$3/$15`, in and out per million tokens; empty where the prices are not known. */
export function prices({ inputPrice, outputPrice }: Prices): string {
  if (inputPrice === null || outputPrice === null) return "";
  return `$${Number(inputPrice.toFixed(3))}/$${Number(outputPrice.toFixed(3))}`;
}

type Prices = Pick<ModelRow, "inputPrice" | "outputPrice">;

/** 40 ms, 1.2 s, 3 min 20 s. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** What a call does and to what: `Read` and `src/app.py`. */
export function callWords({ tool, title }: Pick<CallItem, "tool" | "title">): [string, string] {
  // The panel is narrow, and what follows shows that it is a file or a command.
  const verb = localized(words(tool.replace(/_(file|command|dir)$/, "")));
  if (title === tool) return [verb, ""];
  if (tool && title.startsWith(`${tool} `)) return [verb, title.slice(tool.length + 1)];
  return [title, ""];
}

/** A call's arguments for reading: a command as itself, the rest as JSON. */
export function callInput(input: JsonValue): string {
  if (typeof input === "string") return input;
  if (input === null || input === undefined) return "";
  const fields = Object.entries(input as Record<string, unknown>);
  if (fields.length === 1 && typeof fields[0]?.[1] === "string") return fields[0][1];
  return JSON.stringify(input, null, 2);
}

/** A model's name without its provider. */
export function modelName(model: string): string {
  return model.split("/").at(-1) || t("Choose a model");
}

const MODE_NAMES: Record<Mode, string> = {
  plan: t("Plan"),
  "ask-all": t("Ask always"),
  ask: t("Ask"),
  "accept-edits": t("Accept edits"),
  auto: t("Auto"),
};

export function modeName(mode: Mode): string {
  return MODE_NAMES[mode];
}

/** Words for a user without the marks that only a notification renders. */
export function plain(text: string): string {
  return text.replaceAll("`", "");
}

/** Words that stand by themselves: with a capital and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A text in whose place of `{0}` something that is no text stands. */
export function around<T>(text: string, what: T): (string | T)[] {
  return text.split("{0}").flatMap((part, index) => (index ? [what, part] : [part]));
}

/** What the server says in the same few words each time: modes, choices, common tools, ends. */
const KNOWN: ReadonlyMap<string, string> = new Map([
  ["Allow once", t("Allow once")],
  ["Reject", t("Reject")],
  ["Plan", t("Plan")],
  ["Ask always", t("Ask always")],
  ["Ask", t("Ask")],
  ["Accept edits", t("Accept edits")],
  ["Auto", t("Auto")],
  ["Read", t("Read")],
  ["Edit", t("Edit")],
  ["Write", t("Write")],
  ["Delete", t("Delete")],
  ["Move", t("Move")],
  ["List", t("List")],
  ["Run", t("Run")],
  ["skipped", t("skipped")],
  ["queued", t("queued")],
  ["dry run", t("dry run")],
  ["Done", t("Done")],
  ["Stopped", t("Stopped")],
]);

/** Words of the server in the user's language; those that are not known stay as they are. */
export function localized(said: string): string {
  return KNOWN.get(said) ?? said;
}

// Characters that hide or reorder what surrounds them, line ends and tabs left out.
const UNSEEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Exact text with what cannot be seen spelled out, so that nobody allows what is hidden. */
export function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(UNSEEN, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** A value as JSON that is read and changed, with what cannot be seen spelled out. */
export function visibleJson(value: JsonValue): string {
  const escaped = (one: string) =>
    [...Array(one.length).keys()]
      .map((at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join("");
  return JSON.stringify(value, null, 2).replace(UNSEEN, escaped);
}

// Colours and cursor movements that programs print for terminals.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** What a program printed, without what only a terminal understands. */
export function printed(text: string): string {
  return visible(text.replace(ESCAPES, "").replace(/^.*\r(?!\n|$)/gm, ""));
}

/** The first line of a text that says something. */
export function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

/** The last lines of a text. */
export function lastLines(text: string, limit: number): string {
  return text.trimEnd().split("\n").slice(-limit).join("\n");
}
