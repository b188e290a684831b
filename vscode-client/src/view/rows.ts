// The rows of a transcript: its items, with reads and searches that follow each other in one row.
import type { CallItem, Item } from "../fold/state";
import { plural } from "../l10n";

export type Row = OneRow | GroupRow;

interface OneRow {
  kind: "one";
  name: string;
  item: Item;
}

/** At least two calls that only looked at something. */
export interface GroupRow {
  kind: "group";
  name: string;
  calls: readonly CallItem[];
}

/** A name that stays the same while the item changes, and where it can be also after a reload. */
export function nameOf(item: Item): string {
  if (item.kind === "call") return `call ${item.id}`;
  const isTurns = item.kind === "end" || item.kind === "user";
  return `${item.kind} ${(isTurns && item.turnId) || item.key}`;
}

const made = new WeakMap<Item, OneRow>();

function rowOf(item: Item): OneRow {
  let row = made.get(item);
  if (!row) {
    row = { kind: "one", name: nameOf(item), item };
    made.set(item, row);
  }
  return row;
}

/** The rows of these items, in order. */
export function rowsOf(items: readonly Item[]): Row[] {
  const rows: Row[] = [];
  let quiet: CallItem[] = [];
  const close = () => {
    const [first] = quiet;
    if (!first) return;
    if (quiet.length === 1) rows.push(rowOf(first));
    else rows.push({ kind: "group", name: nameOf(first), calls: quiet });
    quiet = [];
  };
  for (const item of items) {
    // A read that runs before the model has finished writing it has no name yet.
    if (item.kind === "call" && (!item.tool || isToldElsewhere(item))) continue;
    if (item.kind === "call" && isQuiet(item)) {
      quiet.push(item);
      continue;
    }
    close();
    rows.push(rowOf(item));
  }
  close();
  return rows;
}

/** Says whether a call is seen as what it asked or planned, and went well. */
function isToldElsewhere({ tool, status, notRun, isRestored }: CallItem): boolean {
  const isIt = tool === "ask_user" || tool === "update_plan";
  return isIt && status !== "failed" && !notRun && !isRestored;
}

/** Says whether a call only looked at something, and nobody has to know more of it. */
function isQuiet(call: CallItem): boolean {
  return (
    (call.toolKind === "read" || call.toolKind === "search") &&
    call.status !== "failed" &&
    !call.answer &&
    !call.notRun &&
    !call.badExit &&
    !call.refusal &&
    !call.isRestored
  );
}

/** What tools read; the others look something up. */
const READ: Readonly<Record<string, string>> = {
  read_file: "file",
  outline: "file",
  list_dir: "folder",
};

/** What the calls of a group did: `Read 2 files, 1 search`. */
export function groupWords(calls: readonly CallItem[]): string {
  const seen: Record<string, Set<string>> = {};
  for (const { id, tool, title, toolKind } of calls) {
    const noun = toolKind === "search" ? "search" : (READ[tool] ?? "look-up");
    // A file that is read twice is one file.
    const what = READ[tool] ? title.slice(tool.length) : id;
    (seen[noun] ??= new Set()).add(what);
  }
  const isAlone = !seen["file"];
  const words: Record<string, (count: number) => string> = {
    file: (count) => plural(count, "Read {0} file", "Read {0} files"),
    folder: (count) =>
      isAlone
        ? plural(count, "Read {0} folder", "Read {0} folders")
        : plural(count, "{0} folder", "{0} folders"),
    search: (count) => plural(count, "{0} search", "{0} searches"),
    "look-up": (count) => plural(count, "{0} look-up", "{0} look-ups"),
  };
  return Object.entries(words)
    .flatMap(([noun, of]) => (seen[noun] ? [of(seen[noun].size)] : []))
    .join(", ");
}

/** Says whether a row is one line, which stands closer to the lines around it. */
export function isLine(row: Row): boolean {
  if (row.kind === "group") return true;
  const { kind } = row.item;
  return kind !== "user" && kind !== "answer" && kind !== "end" && kind !== "asked";
}
