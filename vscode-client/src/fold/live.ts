// What all sessions of the server are doing: what waits in each, and whether a turn runs.
//
// A small fold beside `reduce.ts`, which keeps the transcript of the one session that is shown.
import type { PermissionRequested, QuestionAsked, Update, UpdateParams } from "../wire";
import type { Kind } from "./items";
import type { State } from "./state";

export interface Live {
  isRunning: boolean;
  /** What waits for the user by its id, oldest first. */
  waiting: ReadonlyMap<string, Waits>;
}

/** An approval or a question that waits. */
export interface Waits {
  words: string;
  /** It asks which steps of a plan may run. */
  isPlan: boolean;
}

/** By session; one that rests is not in it. */
export type Lives = ReadonlyMap<string, Live>;

/** Only a turn that runs brings these about. */
export const SIGNS_OF_LIFE: ReadonlySet<Kind> = new Set<Kind>([
  "turn_started",
  "phase_update",
  "agent_message_chunk",
  "agent_thought_chunk",
  "agent_message",
  "tool_call",
  "tool_call_output",
  "permission_request",
  "question",
]);

const RESTING: Live = { isRunning: false, waiting: new Map() };

/** What the sessions do after a notification; the same map when nothing is new. */
export function followLives(lives: Lives, { sessionId, updates }: UpdateParams): Lives {
  let { isRunning, waiting } = lives.get(sessionId) ?? RESTING;
  const was = { isRunning, waiting };
  for (const update of updates) {
    waiting = waitingAfter(waiting, update);
    if (update.sessionUpdate === "turn_ended") isRunning = false;
    if (SIGNS_OF_LIFE.has(update.sessionUpdate)) isRunning = true;
  }
  if (isRunning === was.isRunning && waiting === was.waiting) return lives;
  return withLive(lives, sessionId, { isRunning, waiting });
}

/** What the sessions do, given the whole state of one of them. */
export function livesWith(
  lives: Lives,
  {
    sessionId,
    turn,
    approvals,
    questions,
  }: Pick<State, "sessionId" | "turn" | "approvals" | "questions">,
): Lives {
  const waiting = new Map<string, Waits>([
    ...approvals.map((one) => [one.approvalId, asApproval(one)] as const),
    ...questions.map((one) => [one.questionId, asQuestion(one)] as const),
  ]);
  return withLive(lives, sessionId, { isRunning: turn !== null, waiting });
}

/** How many things wait for the user, in all sessions. */
export function countWaiting(lives: Lives): number {
  return [...lives.values()].reduce((sum, { waiting }) => sum + waiting.size, 0);
}

/** How many sessions work, those that wait for the user included. */
export function countRunning(lives: Lives): number {
  return [...lives.values()].filter((one) => one.isRunning).length;
}

function withLive(lives: Lives, sessionId: string, live: Live): Lives {
  const others = [...lives].filter(([id]) => id !== sessionId);
  const isResting = !live.isRunning && !live.waiting.size;
  return new Map(isResting ? others : [...others, [sessionId, live]]);
}

function waitingAfter(waiting: Live["waiting"], update: Update): Live["waiting"] {
  if (update.sessionUpdate === "permission_request") {
    return new Map([...waiting, [update.approvalId, asApproval(update)]]);
  }
  if (update.sessionUpdate === "question") {
    return new Map([...waiting, [update.questionId, asQuestion(update)]]);
  }
  if (update.sessionUpdate === "permission_resolved") return without(waiting, update.approvalId);
  if (update.sessionUpdate === "question_resolved") return without(waiting, update.questionId);
  return update.sessionUpdate === "turn_ended" ? RESTING.waiting : waiting;
}

function asApproval({ title }: Pick<PermissionRequested, "title">): Waits {
  return { words: title, isPlan: false };
}

function asQuestion({ text, steps }: Pick<QuestionAsked, "text" | "steps">): Waits {
  return { words: text, isPlan: steps.length > 0 };
}

function without(waiting: Live["waiting"], id: string): Live["waiting"] {
  return waiting.has(id) ? new Map([...waiting].filter(([one]) => one !== id)) : waiting;
}
