// Which moments files were restored to. How changes stand is not folded: the server is asked for that
// anew, because it depends on what is typed meanwhile.
import type { Of } from "./items";
import type { Item, Moment, State } from "./state";

/** The state after a decision about changes, or after the edit that it needed. */
export function decided(state: State, update: Of<"review_update">): State {
  const { reviewId, decision, status, turnId, toolCallId } = update;
  if (decision === "restore" && status === "in_progress" && turnId) {
    const moment: Moment = { turnId, toolCallId: toolCallId ?? null };
    return { ...state, restoring: { ...state.restoring, [reviewId]: moment } };
  }
  const { [reviewId]: moment, ...restoring } = state.restoring;
  if (decision !== null || !moment) return state;
  const items =
    status === "applied" ? state.items.map((one) => restored(one, moment)) : state.items;
  return { ...state, items, restoring };
}

function restored(item: Item, { turnId, toolCallId }: Moment): Item {
  if (item.kind === "call" && item.id === toolCallId) return { ...item, isRestored: true };
  const isTurn = toolCallId === null && item.kind === "user" && item.turnId === turnId;
  return isTurn ? { ...item, isRestored: true } : item;
}
