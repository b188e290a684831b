// Folds updates into a state; pure, and the only thing that does.
//
// A snapshot and the live stream go through the same functions, so a panel that was reloaded shows
// what one that was open all the time shows.
import type { SnapshotResult, ToolCallProgress, Update, UpdateParams } from "../wire";
import type { AnswerItem, CallItem, ChangedFile, EndItem, Item, Keyed, State, Turn } from "./state";
import { EMPTY } from "./state";

/** How much of a running call's output is kept. */
export const MAX_OUTPUT = 32_768;

type Kind = Update["sessionUpdate"];
type Of<K extends Kind> = Extract<Update, { sessionUpdate: K }>;
type Folds = { [K in Kind]: (state: State, update: Of<K>) => State };

/** The state after one more update; an update of a kind we do not know changes nothing. */
export function reduce(state: State, update: Update): State {
  const fold = FOLDS[update.sessionUpdate] as ((s: State, u: Update) => State) | undefined;
  return fold ? fold(state, update) : state;
}

/** The state that a snapshot describes. */
export function fromSnapshot(snapshot: SnapshotResult): State {
  const { session, seq, partial } = snapshot;
  const start: State = {
    ...EMPTY,
    sessionId: session.sessionId,
    title: session.title,
    mode: session.mode,
    model: session.model,
  };
  let state = snapshot.updates.reduce(reduce, start);
  if (partial?.thought) state = chunk(state, partial.stepId, "thought", partial.thought);
  if (partial?.text) state = chunk(state, partial.stepId, "text", partial.text);
  // The snapshot knows the session as it is now, whatever its first update said.
  return { ...state, mode: session.mode, model: session.model, seq };
}

/**
 * The state after a notification.
 *
 * What the state already includes is left out: stored updates by their number, and those that
 * belong to another session. Pieces of streaming text have no number of their own.
 */
export function follow(state: State, params: UpdateParams): State {
  if (params.sessionId !== state.sessionId || params.seq < state.seq) return state;
  const fresh =
    params.seq > state.seq ? params.updates : params.updates.filter((one) => isPassing(one));
  if (!fresh.length) return state;
  return { ...fresh.reduce(reduce, state), seq: params.seq };
}

/** Says whether an update is shown and never stored. */
function isPassing(update: Update): boolean {
  return PASSING.has(update.sessionUpdate);
}

const PASSING: ReadonlySet<Kind> = new Set<Kind>([
  "agent_message_chunk",
  "agent_thought_chunk",
  "agent_chunks_discarded",
  "tool_call_output",
]);

const FOLDS: Folds = {
  session_created: (state, update) => ({ ...state, mode: update.mode, model: update.model }),
  session_resumed: (state, update) =>
    add(state, { kind: "resumed", interrupted: update.interruptedToolCalls }),
  current_mode_update: (state, update) => ({ ...state, mode: update.currentModeId }),
  current_model_update: (state, update) => ({ ...state, model: update.model }),
  policy_silenced: (state, update) =>
    add(state, { kind: "notice", level: "info", text: `${words(update.origin)} is switched off` }),
  prompt_queued: (state, update) => ({
    ...state,
    queue: [...state.queue, { text: update.content.text, whenBusy: update.whenBusy }],
  }),
  turn_started: (state, update) => ({
    ...state,
    turn: {
      id: update.turnId,
      phase: "check",
      step: 0,
      isStopping: false,
      firstKey: state.nextKey,
      costBefore: state.usage?.cost.amount ?? 0,
      anchor: update.anchor,
    },
  }),
  user_message_chunk: (state, update) => said(state, update),
  phase_update: (state, update) =>
    withTurn(state, { phase: update.phase, step: Math.max(update.step, state.turn?.step ?? 0) }),
  agent_message_chunk: (state, update) => chunk(state, update.stepId, "text", update.content.text),
  agent_thought_chunk: (state, update) =>
    chunk(state, update.stepId, "thought", update.content.text),
  agent_chunks_discarded: (state, update) => discarded(state, update.stepId),
  agent_message: (state, update) => answered(state, update),
  tool_call: (state, update) => called(state, update),
  tool_call_update: (state, update) =>
    onCall(state, update.toolCallId, (call) => progressed(call, update)),
  tool_call_decision: (state, update) =>
    onCall(state, update.toolCallId, (call) =>
      update.decision === "deny" || update.decision === "defer"
        ? { ...call, refusal: update.reason }
        : call,
    ),
  tool_call_output: (state, update) =>
    onCall(state, update.toolCallId, (call) => ({
      ...call,
      output: tail(call.output + update.content.text),
    })),
  file_edited: (state, update) =>
    onCall(state, update.toolCallId, (call) => ({ ...call, edits: [...call.edits, update] })),
  plan: (state, update) => ({ ...state, plan: update.entries }),
  usage_update: (state, update) => ({ ...state, usage: update }),
  permission_request: (state, update) => ({ ...state, approvals: [...state.approvals, update] }),
  permission_resolved: (state, update) => resolved(state, update),
  question: (state, update) => ({ ...state, questions: [...state.questions, update] }),
  question_resolved: (state, update) => replied(state, update),
  findings: (state, update) => found(state, update),
  gate_failed: (state, update) =>
    add(state, { kind: "gate", origin: update.origin, text: update.text, isNudged: false }),
  notice: (state, update) => add(state, { kind: "notice", level: update.level, text: update.text }),
  compacted: (state, update) =>
    add(state, {
      kind: "compacted",
      why: update.why,
      beforeTokens: update.beforeTokens,
      afterTokens: update.afterTokens,
    }),
  cancel_requested: (state) => withTurn(state, { isStopping: true }),
  turn_ended: (state, update) => ended(state, update),
};

/** A policy's name as a person reads it: `step_limit` is "Step limit". */
export function words(name: string): string {
  const text = name.replaceAll(/[_-]+/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The distributive form keeps the union's members apart when the key is left out.
type Unkeyed<T> = T extends Keyed ? Omit<T, "key"> : never;

function add(state: State, item: Unkeyed<Item>): State {
  const keyed = { ...item, key: state.nextKey } as Item;
  return { ...state, items: [...state.items, keyed], nextKey: state.nextKey + 1 };
}

function replace(state: State, index: number, item: Item): State {
  const items = state.items.slice();
  items[index] = item;
  return { ...state, items };
}

function withTurn(state: State, change: Partial<Turn>): State {
  return state.turn ? { ...state, turn: { ...state.turn, ...change } } : state;
}

function tail(text: string): string {
  if (text.length <= MAX_OUTPUT) return text;
  const cut = text.slice(-MAX_OUTPUT);
  const line = cut.indexOf("\n");
  return line >= 0 && line < 2_000 ? cut.slice(line + 1) : cut;
}

function said(state: State, update: Of<"user_message_chunk">): State {
  const { origin, content } = update;
  if (origin !== "user" && origin !== "steer") return nudged(state, origin, content.text);
  const waiting = state.queue.findIndex((one) => one.text === content.text);
  const queue = waiting < 0 ? state.queue : state.queue.filter((_, index) => index !== waiting);
  const isFirst = state.turn?.firstKey === state.nextKey;
  return add(
    { ...state, queue },
    {
      kind: "user",
      text: content.text,
      isSteer: origin === "steer",
      anchor: isFirst ? (state.turn?.anchor ?? null) : null,
    },
  );
}

/** A gate's failure and the nudge that follows it say the same: one item is enough. */
function nudged(state: State, origin: string, text: string): State {
  const last = state.items.length - 1;
  const item = state.items[last];
  if (item?.kind === "gate" && item.origin === origin && !item.isNudged) {
    return replace(state, last, { ...item, isNudged: true });
  }
  return add(state, { kind: "nudge", origin, text });
}

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

function chunk(before: State, stepId: string, field: "text" | "thought", text: string): State {
  const [state, index] = openAnswer(before, stepId);
  const item = state.items[index] as AnswerItem;
  return replace(state, index, { ...item, [field]: item[field] + text });
}

function discarded(state: State, stepId: string): State {
  const index = streaming(state, stepId);
  if (index < 0) return state;
  const item = state.items[index] as AnswerItem;
  if (item.kept || item.keptThought) {
    return replace(state, index, { ...item, text: "", thought: "" });
  }
  return { ...state, items: state.items.filter((_, at) => at !== index) };
}

function answered(before: State, update: Of<"agent_message">): State {
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

const UNNAMED: Unkeyed<CallItem> = {
  kind: "call",
  id: "",
  tool: "",
  title: "",
  toolKind: "other",
  status: "pending",
  input: null,
  locations: [],
  output: "",
  result: null,
  error: null,
  durationMs: null,
  edits: [],
  refusal: "",
  answer: null,
};

function callIndex(state: State, id: string): number {
  return state.items.findLastIndex((one) => one.kind === "call" && one.id === id);
}

/** A read may start before the model has written all its calls: then it is known before its name. */
function called(state: State, update: Of<"tool_call">): State {
  const known = callIndex(state, update.toolCallId);
  const early = known < 0 ? UNNAMED : (state.items[known] as CallItem);
  const rest =
    known < 0 ? state : { ...state, items: state.items.filter((_, index) => index !== known) };
  return add(rest, {
    ...early,
    id: update.toolCallId,
    tool: update.tool,
    title: update.title,
    toolKind: update.kind,
    input: update.rawInput,
  });
}

function onCall(before: State, id: string, change: (call: CallItem) => CallItem): State {
  let state = before;
  let index = callIndex(state, id);
  if (index < 0) {
    state = add(state, { ...UNNAMED, id });
    index = state.items.length - 1;
  }
  return replace(state, index, change(state.items[index] as CallItem));
}

function progressed(call: CallItem, update: ToolCallProgress): CallItem {
  return {
    ...call,
    status: update.status,
    locations: update.locations ?? call.locations,
    result: update.content?.text ?? call.result,
    error: update.error ?? call.error,
    durationMs: update.durationMs ?? call.durationMs,
  };
}

const ANSWERS = {
  allow_once: "allowed",
  allow_session: "allowed",
  allow_always: "allowed",
  reject_once: "rejected",
  reject_always: "rejected",
  amend: "amended",
  cancelled: "cancelled",
} as const;

function resolved(state: State, update: Of<"permission_resolved">): State {
  const request = state.approvals.find((one) => one.approvalId === update.approvalId);
  if (!request) return state;
  const approvals = state.approvals.filter((one) => one !== request);
  return onCall({ ...state, approvals }, request.toolCallId, (call) => ({
    ...call,
    answer: ANSWERS[update.outcome],
  }));
}

function replied(state: State, update: Of<"question_resolved">): State {
  const question = state.questions.find((one) => one.questionId === update.questionId);
  if (!question) return state;
  const questions = state.questions.filter((one) => one !== question);
  return add({ ...state, questions }, { kind: "asked", text: question.text, answer: update.text });
}

function found(state: State, update: Of<"findings">): State {
  const findings = { ...state.findings };
  for (const path of update.paths) delete findings[path];
  for (const one of update.findings) {
    findings[one.path] = [...(findings[one.path] ?? []), one];
  }
  const item = {
    kind: "findings",
    paths: update.paths,
    findings: update.findings,
    problems: update.problems,
  } as const;
  return add({ ...state, findings }, item);
}

function ended(state: State, update: Of<"turn_ended">): State {
  const { turn } = state;
  const first = turn?.firstKey ?? state.nextKey;
  const items = state.items.map((one) =>
    one.kind === "answer" && one.isStreaming ? { ...one, isStreaming: false } : one,
  );
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
