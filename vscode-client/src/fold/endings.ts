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
  const { prompt, step, costBefore } = turn ?? { prompt: "", step: 0, costBefore: 0 };
  const end: Omit<EndItem, "key"> = {
    kind: "end",
    turnId: update.turnId,
    status: update.status,
    stopReason: update.stopReason,
    title: update.title,
    actions: update.actions,
    reason: update.failureReason,
    prompt,
    output: isSaid(update.output, mine) ? "" : update.output.trim(),
    openTasks: update.openTasks,
    steps: step,
    cost: (state.usage?.cost.amount ?? 0) - costBefore,
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

/**
 * The state without a failed try that the same prompt repeats: one card stays, and nothing of it
 * when the next try succeeds. A turn that did something stays.
 */
export function withoutFailedTry(state: State, prompt: string): State {
  const end = state.items.at(-1);
  if (end?.kind !== "end" || end.status !== "failed" || end.prompt !== prompt) return state;
  const start = state.items.findLastIndex((one) => one.kind === "user");
  const begun = state.items[start];
  if (begun?.kind !== "user" || begun.turnId !== end.turnId) return state;
  const between = state.items.slice(start + 1, -1);
  if (between.some((one) => one.kind !== "notice")) return state;
  return { ...state, items: state.items.slice(0, start) };
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
