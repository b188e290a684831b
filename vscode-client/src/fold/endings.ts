// How a turn ended, and what it did.
import { add, type Of } from "./items";
import { over } from "./plans";
import type { ChangedFile, EndItem, Item, State } from "./state";

/** The state after a turn is over. */
export function ended(state: State, update: Of<"turn_ended">): State {
  const { turn } = state;
  const first = turn?.firstKey ?? state.nextKey;
  const items = state.items.map(settled);
  const mine = items.filter((one) => one.key >= first);
  const isSaid = mine.some(
    (one) => one.kind === "answer" && (one.kept + one.text).trim() === update.output.trim(),
  );
  const end: Omit<EndItem, "key"> = {
    kind: "end",
    status: update.status,
    stopReason: update.stopReason,
    reason: update.failureReason,
    output: isSaid ? "" : update.output.trim(),
    openTasks: update.openTasks,
    steps: turn?.step ?? 0,
    cost: (state.usage?.cost.amount ?? 0) - (turn?.costBefore ?? 0),
    files: changedFiles(mine),
  };
  return add({ ...state, items, turn: null, approvals: [], questions: [] }, end);
}

/** The item after the turn is over: nothing of it goes on. */
function settled(item: Item): Item {
  if (item.kind === "asked") return over(item);
  return item.kind === "answer" && item.isStreaming ? { ...item, isStreaming: false } : item;
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
