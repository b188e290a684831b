// Folds updates into a state; pure, and the only thing that does.
//
// A snapshot and the live stream go through the same functions, so a panel that was reloaded shows
// what one that was open all the time shows.
import { t } from "../l10n";
import type { SnapshotResult, Update, UpdateParams } from "../wire";
import { answered, chunk, closed, discarded } from "./answers";
import { called, callOf, onCall, printed, progressed } from "./calls";
import { ended, withoutFailedTry } from "./endings";
import { add, type Kind, type Of, replace } from "./items";
import { SIGNS_OF_LIFE } from "./live";
import { answeredSteps, marked } from "./plans";
import { decided } from "./restores";
import { EMPTY, type State, type Turn } from "./state";

type Folds = { [K in Kind]: (state: State, update: Of<K>) => State };

/** The state after one more update; an update of a kind we do not know changes nothing. */
export function reduce(before: State, update: Update): State {
  const fold = FOLDS[update.sessionUpdate] as ((s: State, u: Update) => State) | undefined;
  const state =
    before.cutOff && GOES_ON.has(update.sessionUpdate)
      ? { ...before, turn: before.cutOff.turn, cutOff: null }
      : before;
  return fold ? fold(state, update) : state;
}

const GOES_ON: ReadonlySet<Kind> = new Set<Kind>([
  ...SIGNS_OF_LIFE,
  "cancel_requested",
  "turn_ended",
]);

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
  if (session.isInterrupted) state = { ...state, turn: null, cutOff: { turn: state.turn } };
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
  session_resumed: (state, update) => resumed(state, update.interruptedToolCalls),
  current_mode_update: (state, update) => ({ ...state, mode: update.currentModeId }),
  current_model_update: (state, update) => ({ ...state, model: update.model }),
  current_effort_update: (state, update) => ({ ...state, effort: update.effort }),
  policy_silenced: (state, update) =>
    add(state, {
      kind: "notice",
      id: "",
      level: "info",
      text: t("{0} is switched off", words(update.origin)),
      title: "",
    }),
  prompt_queued: (state, update) => ({
    ...state,
    queue: [
      ...state.queue,
      { id: update.promptId, text: update.content.text, whenBusy: update.whenBusy },
    ],
  }),
  prompt_changed: (state, update) => ({ ...state, queue: requeued(state.queue, update) }),
  turn_started: (state, update) => ({
    ...state,
    turn: {
      id: update.turnId,
      phase: "check",
      step: 0,
      isStopping: false,
      prompt: "",
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
  tool_call_update: (state, update) => {
    const now = onCall(state, update.toolCallId, (call) => progressed(call, update));
    return marked(now, callOf(now, update.toolCallId));
  },
  tool_call_decision: (state, update) =>
    onCall(state, update.toolCallId, (call) =>
      update.decision === "deny" || update.decision === "defer"
        ? { ...call, refusal: update.reason }
        : call,
    ),
  tool_call_output: (state, update) =>
    onCall(state, update.toolCallId, (call) => printed(call, update.content.text)),
  sub_agent: (state, update) =>
    onCall(state, update.toolCallId, (call) => ({ ...call, agent: update })),
  file_edited: (state, update) =>
    onCall(state, update.toolCallId, (call) => ({ ...call, edits: [...call.edits, update] })),
  review_update: (state, update) => decided(state, update),
  plan: (state, update) => ({ ...state, plan: update.entries }),
  usage_update: (state, update) => ({ ...state, usage: update }),
  permission_request: (state, update) => ({ ...state, approvals: [...state.approvals, update] }),
  permission_resolved: (state, update) => resolved(state, update),
  question: (state, update) => ({ ...state, questions: [...state.questions, update] }),
  question_resolved: (state, update) => replied(state, update),
  findings: (state, update) => found(state, update),
  gate_failed: (state, update) =>
    add(state, { kind: "gate", origin: update.origin, text: update.text, isNudged: false }),
  notice: (state, update) => noticed(state, update),
  compacted: (state, update) =>
    add(state, {
      kind: "compacted",
      why: update.why,
      beforeTokens: update.beforeTokens,
      afterTokens: update.afterTokens,
    }),
  // What was queued goes back to where the user writes.
  cancel_requested: (state) => withTurn({ ...state, queue: [] }, { isStopping: true }),
  turn_ended: (state, update) => ended(state, update),
};

/** A policy's name as a user reads it: `step_limit` is "Step limit". */
export function words(name: string): string {
  const text = name.replaceAll(/[_-]+/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What is said after a break is an answer of its own; breaks without a word between are one. */
function resumed(state: State, calls: readonly string[]): State {
  const items = closed(state.items);
  const last = items.at(-1);
  if (last?.kind === "resumed") {
    const both = { ...last, interrupted: [...last.interrupted, ...calls] };
    return replace({ ...state, items }, items.length - 1, both);
  }
  return add({ ...state, items }, { kind: "resumed", interrupted: calls });
}

function withTurn(state: State, change: Partial<Turn>): State {
  return state.turn ? { ...state, turn: { ...state.turn, ...change } } : state;
}

function said(before: State, update: Of<"user_message_chunk">): State {
  const { origin, content } = update;
  if (origin !== "user" && origin !== "steer") return nudged(before, origin, content.text);
  const isFirst = before.turn !== null && before.turn.firstKey === before.nextKey;
  const state = isFirst
    ? withTurn(withoutFailedTry(before, content.text), { prompt: content.text })
    : before;
  const begun = isFirst ? state.turn : null;
  return add(
    { ...state, queue: without(state.queue, content.text) },
    {
      kind: "user",
      text: content.text,
      isSteer: origin === "steer",
      anchor: begun && begun.anchor,
      attachments: update.attachments ?? [],
      images: update.images ?? [],
      turnId: begun && begun.id,
      isRestored: false,
    },
  );
}

/** The queue after the first prompt with these words was said. */
function without(queue: State["queue"], text: string): State["queue"] {
  const at = queue.findIndex((one) => one.text === text);
  return at < 0 ? queue : queue.filter((_, index) => index !== at);
}

/** The queue after a prompt in it was changed, moved or dropped. */
function requeued(queue: State["queue"], update: Of<"prompt_changed">): State["queue"] {
  const { promptId, text, whenBusy, before, isDropped } = update;
  const meant = queue.find((one) => one.id === promptId);
  if (!promptId || !meant) return queue;
  if (isDropped) return queue.filter((one) => one !== meant);
  const now = { ...meant, text: text ?? meant.text, whenBusy: whenBusy ?? meant.whenBusy };
  if (before === null) {
    return queue.map((one) => (one === meant ? now : one));
  }
  const rest = queue.filter((one) => one !== meant);
  const found = rest.findIndex((one) => one.id === before);
  const at = found < 0 ? rest.length : found;
  return [...rest.slice(0, at), now, ...rest.slice(at)];
}

/** A notice with an id stands once, in its first place; one without words takes it away. */
function noticed(state: State, { noticeId: id, level, text, title }: Of<"notice">): State {
  const known = id ? state.items.findIndex((one) => one.kind === "notice" && one.id === id) : -1;
  if (!text) return { ...state, items: state.items.filter((_, index) => index !== known) };
  const old = state.items[known];
  return old?.kind === "notice"
    ? replace(state, known, { ...old, level, text, title })
    : add(state, { kind: "notice", id, level, text, title });
}

/** Why a checker could not run is told once a session. */
function found(state: State, update: Of<"findings">): State {
  const { paths, findings, unanswered } = update;
  const isTold = (text: string) =>
    state.items.some((one) => one.kind === "findings" && one.problems.includes(text));
  const problems = update.problems.filter((one) => !isTold(one));
  if (!problems.length && update.problems.length && !findings.length) return state;
  return add(state, { kind: "findings", paths, findings, problems, unanswered });
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

const ANSWERS = {
  allow_once: "allowed",
  allow_session: "allowed",
  allow_prefix: "allowed",
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
    note: update.note,
  }));
}

function replied(state: State, update: Of<"question_resolved">): State {
  const question = state.questions.find((one) => one.questionId === update.questionId);
  if (!question) return state;
  const questions = state.questions.filter((one) => one !== question);
  const { text, steps } = question;
  const answer = update.text;
  const asked = { kind: "asked", text, answer, steps: answeredSteps(steps, answer) } as const;
  return add({ ...state, questions }, asked);
}
