// How a turn ended, and what it did.
import { closed } from "./answers";
import { add, type Of } from "./items";
import { over } from "./plans";
import type { ChangedFile, EndItem, Item, State } from "./state";

/** The state after a turn is over. */
export function ended(state: State, update: Of<"turn_ended">): State {
  const { turn } = state;
  const first = turn?.firstKey ?? state.nextKey;
  const items = closed(state.items).map((one) => (one.kind === "asked" ? over(one) : one));
  const mine = items.filter((one) => one.key >= first);
  const end: Omit<EndItem, "key"> = {
    kind: "end",
    status: update.status,
    stopReason: update.stopReason,
    reason: update.failureReason,
    output: isSaid(update.output, mine) ? "" : update.output.trim(),
    openTasks: update.openTasks,
    steps: turn?.step ?? 0,
    cost: (state.usage?.cost.amount ?? 0) - (turn?.costBefore ?? 0),
    files: changedFiles(mine),
  };
  return add({ ...state, items, turn: null, approvals: [], questions: [] }, end);
}

/** Says whether an answer has these words, or the last answers together, as after a break. */
function isSaid(output: string, items: readonly Item[]): boolean {
  const texts = items.flatMap((one) => (one.kind === "answer" ? [one.kept + one.text] : []));
  const ends = texts.map((_, index) => texts.slice(index).join(""));
  return [...texts, ...ends].some((text) => text.trim() === output.trim());
}

/** The files that edits of these items changed, in order of the first change. */
function changedFiles(items: readonly Item[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  for (const item of items) {
    if (item.kind !== "call") continue;
    for (const edit of item.edits) {
      if (edit.status !== "applied" && edit.status !== "unconfirmed") continue;
      const { location } = edit;
      const sum = files.get(location.path) ?? { location, added: 0, removed: 0 };
      files.set(location.path, {
        location,
        added: sum.added + edit.addedLines,
        removed: sum.removed + edit.removedLines,
      });
    }
  }
  return [...files.values()];
}
