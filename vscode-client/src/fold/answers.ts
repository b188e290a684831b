// What the model says, while it streams and when it is complete.
import { add, type Of, replace } from "./items";
import type { AnswerItem, Item, State } from "./state";

function streaming(state: State, stepId: string): number {
  return state.items.findLastIndex(
    (one) => one.kind === "answer" && one.isStreaming && one.stepId === stepId,
  );
}

function openAnswer(state: State, stepId: string): [State, number] {
  const index = streaming(state, stepId);
  if (index >= 0) return [state, index];
  const begun = add(state, {
    kind: "answer",
    stepId,
    kept: "",
    text: "",
    keptThought: "",
    thought: "",
    isStreaming: true,
  });
  return [begun, begun.items.length - 1];
}

/** These items, in which no answer streams any more. */
export function closed(items: readonly Item[]): readonly Item[] {
  return items.map((one) =>
    one.kind === "answer" && one.isStreaming ? { ...one, isStreaming: false } : one,
  );
}

/** The state after the next piece of a step's text or thinking. */
export function chunk(
  before: State,
  stepId: string,
  field: "text" | "thought",
  text: string,
): State {
  const [state, index] = openAnswer(before, stepId);
  const item = state.items[index] as AnswerItem;
  return replace(state, index, { ...item, [field]: item[field] + text });
}

/** The state after the step's pieces since the last kept one turned out not to count. */
export function discarded(state: State, stepId: string): State {
  const index = streaming(state, stepId);
  if (index < 0) return state;
  const item = state.items[index] as AnswerItem;
  if (item.kept || item.keptThought) {
    return replace(state, index, { ...item, text: "", thought: "" });
  }
  return { ...state, items: state.items.filter((_, at) => at !== index) };
}

/** The state after a step's answer, or a piece of it, came whole. */
export function answered(before: State, update: Of<"agent_message">): State {
  const [state, index] = openAnswer(before, update.stepId);
  const item = state.items[index] as AnswerItem;
  const thought = update.thought || item.thought;
  const now: AnswerItem = {
    ...item,
    kept: item.kept + update.content.text,
    text: "",
    keptThought: item.keptThought + thought,
    thought: "",
    isStreaming: update.isPartial,
  };
  if (!now.kept && !now.keptThought && !now.isStreaming) {
    return { ...state, items: state.items.filter((_, at) => at !== index) };
  }
  return replace(state, index, now);
}
