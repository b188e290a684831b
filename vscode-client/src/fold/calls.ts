// Tool calls, from the first word of them to their result.
import { t } from "../l10n";
import type { JsonValue, ToolCallProgress } from "../wire";
import { add, type Of, replace, type Unkeyed } from "./items";
import type { CallItem, State } from "./state";

/** How much of a running call's output is kept. */
export const MAX_OUTPUT = 32_768;

const NOT_RUN = ["skipped", "queued", "dry run"];

const UNNAMED: Unkeyed<CallItem> = {
  kind: "call",
  id: "",
  turnId: "",
  tool: "",
  title: "",
  toolKind: "other",
  status: "pending",
  input: null,
  locations: [],
  output: "",
  result: null,
  error: null,
  badExit: "",
  notRun: "",
  durationMs: null,
  edits: [],
  refusal: "",
  answer: null,
  note: "",
  agent: null,
  isRestored: false,
};

function callIndex(state: State, id: string): number {
  return state.items.findLastIndex((one) => one.kind === "call" && one.id === id);
}

/** The call with this id; null when nothing is known of it. */
export function callOf(state: State, id: string): CallItem | null {
  return (state.items[callIndex(state, id)] as CallItem | undefined) ?? null;
}

/**
 * The state after a call was named.
 *
 * A read may start before the model has written all its calls: then it is known before its name.
 */
export function called(state: State, update: Of<"tool_call">): State {
  const known = callIndex(state, update.toolCallId);
  const early = known < 0 ? UNNAMED : (state.items[known] as CallItem);
  const rest =
    known < 0 ? state : { ...state, items: state.items.filter((_, index) => index !== known) };
  return add(rest, {
    ...early,
    id: update.toolCallId,
    turnId: state.turn?.id ?? "",
    tool: update.tool,
    title: update.title,
    toolKind: update.kind,
    input: update.rawInput,
  });
}

/** The state with one call changed. */
export function onCall(before: State, id: string, change: (call: CallItem) => CallItem): State {
  let state = before;
  let index = callIndex(state, id);
  if (index < 0) {
    state = add(state, { ...UNNAMED, id });
    index = state.items.length - 1;
  }
  return replace(state, index, change(state.items[index] as CallItem));
}

/** The call after it went on. */
export function progressed(call: CallItem, update: ToolCallProgress): CallItem {
  return {
    ...call,
    status: update.status,
    locations: update.locations ?? call.locations,
    result: update.content?.text ?? call.result,
    error: update.error ?? call.error,
    badExit: badExit(update.rawOutput) || call.badExit,
    notRun: NOT_RUN.find((word) => word === update.outcome) ?? call.notRun,
    durationMs: update.durationMs ?? call.durationMs,
  };
}

function badExit(output: JsonValue): string {
  const { exit_code: code, end } = (output ?? {}) as Record<string, unknown>;
  if (typeof code === "number" && code !== 0) return t("exit code {0}", code);
  return end === "killed" ? t("killed") : "";
}

/** The call after it printed something. */
export function printed(call: CallItem, text: string): CallItem {
  return { ...call, output: tail(call.output + text) };
}

function tail(text: string): string {
  if (text.length <= MAX_OUTPUT) return text;
  const cut = text.slice(-MAX_OUTPUT);
  const line = cut.indexOf("\n");
  return line >= 0 && line < 2_000 ? cut.slice(line + 1) : cut;
}
