// What the user has written and not sent: the page keeps it over a reload and while it is hidden.
//
// Pure: each function returns the drafts after one thing has happened.
import type { State } from "../fold/state";
import { t } from "../l10n";
import type { Chip, HereChoice } from "../messages";
import type { Update } from "../wire";
import { withChips } from "./attach";

/** A prompt that the agent never got. */
export interface Unsent {
  id: number;
  /** Empty: it belongs to no session and is shown in each. */
  sessionId: string;
  text: string;
  /** Why it was not sent. */
  problem: string;
  /** What was to go with it. */
  chips?: readonly Chip[];
}

/** What goes with the next prompt. */
export interface PromptContext {
  chips: readonly Chip[];
  /** What of where the user is goes along. */
  choice: HereChoice;
  /** Why something could not be attached; empty: nothing was wrong. */
  problem: string;
}

export interface Drafts {
  /** What stands in the prompt, by the key of the session. */
  prompts: Readonly<Record<string, string>>;
  /** The key of the session that was shown last. */
  shown: string;
  /** In the order that the user gave them. */
  unsent: readonly Unsent[];
  /** Half-written answers to approvals and questions, by `answerName`. */
  answers: Readonly<Record<string, string>>;
  nextId: number;
  context: PromptContext;
}

export const NO_DRAFTS: Drafts = {
  prompts: {},
  shown: "",
  unsent: [],
  answers: {},
  nextId: 1,
  context: { chips: [], choice: "selection", problem: "" },
};

/** The drafts that an earlier page kept, also one of an older version. */
export function restored(kept: unknown): Drafts {
  if (typeof kept !== "object" || kept === null) return NO_DRAFTS;
  if ("draft" in kept) return drafted(NO_DRAFTS, "", String(kept.draft));
  return { ...NO_DRAFTS, ...kept };
}

/**
 * The name under which a session's prompt is kept; empty while nothing was said in it.
 *
 * A session without a prompt is not stored: what was written in it is for the next one.
 */
export function keyOf({ sessionId, items, turn }: State): string {
  return turn || items.some((one) => one.kind === "user") ? sessionId : "";
}

/** The drafts with another text in a session's prompt. */
export function drafted(drafts: Drafts, key: string, text: string): Drafts {
  return { ...drafts, prompts: withText(drafts.prompts, key, text) };
}

/** The drafts with another text in the field of an approval or a question. */
export function answering(drafts: Drafts, name: string, text: string): Drafts {
  return { ...drafts, answers: withText(drafts.answers, name, text) };
}

function withText(
  texts: Readonly<Record<string, string>>,
  name: string,
  text: string,
): Record<string, string> {
  const others = Object.entries(texts).filter(([other]) => other !== name);
  return Object.fromEntries(text ? [...others, [name, text]] : others);
}

/** The drafts with one more prompt that was not sent. */
export function unsent(
  drafts: Drafts,
  sessionId: string,
  text: string,
  problem: string,
  chips: readonly Chip[] = [],
): Drafts {
  const row: Unsent = { id: drafts.nextId, sessionId, text, problem };
  const whole = chips.length ? { ...row, chips } : row;
  return { ...drafts, unsent: [...drafts.unsent, whole], nextId: drafts.nextId + 1 };
}

/** The drafts with another context of the next prompt. */
export function contextual(drafts: Drafts, change: Partial<PromptContext>): Drafts {
  return { ...drafts, context: { ...drafts.context, ...change } };
}

/** The drafts with more that goes with the next prompt, and why something does not. */
export function attached(drafts: Drafts, chips: readonly Chip[], problem: string): Drafts {
  return contextual(drafts, { chips: withChips(drafts.context.chips, chips), problem });
}

/** The prompts that were not sent and are shown with a session. */
export function unsentOf(drafts: Drafts, sessionId: string): readonly Unsent[] {
  return drafts.unsent.filter((one) => !one.sessionId || one.sessionId === sessionId);
}

/** The drafts with other words in a prompt that was not sent. */
export function reworded(drafts: Drafts, id: number, text: string): Drafts {
  const rows = drafts.unsent.map((one) => (one.id === id ? { ...one, text } : one));
  return { ...drafts, unsent: rows };
}

/** The drafts without a prompt, because it is sent or no longer wanted. */
export function taken(drafts: Drafts, id: number): Drafts {
  return { ...drafts, unsent: drafts.unsent.filter((one) => one.id !== id) };
}

/** The drafts with a prompt in the place of another one. */
export function moved(drafts: Drafts, id: number, placeOf: number): Drafts {
  const row = drafts.unsent.find((one) => one.id === id);
  const to = drafts.unsent.findIndex((one) => one.id === placeOf);
  if (!row || to < 0) return drafts;
  const others = drafts.unsent.filter((one) => one.id !== id);
  return { ...drafts, unsent: [...others.slice(0, to), row, ...others.slice(to)] };
}

/** The name of an answer's field: `note`, `amend`, `answer`, or `queued` for a waiting prompt. */
export function answerName(sessionId: string, id: string, field: string): string {
  return JSON.stringify([sessionId, id, field]);
}

/**
 * The drafts after a question was answered in other words than those of its field.
 *
 * The answer stands in the field until it counts; what stood there becomes an unsent prompt.
 */
export function answered(drafts: Drafts, session: string, id: string, text: string): Drafts {
  const name = answerName(session, id, "answer");
  const before = drafts.answers[name] ?? "";
  const others = before.trim() ? unsent(drafts, session, before, SETTLED) : drafts;
  return answering(others, name, text);
}

const SETTLED = t("It was settled before you sent this.");
const SENT = t("It was sent before you changed it.");
const TAKEN_BACK = t("It was taken back before you changed it.");

/**
 * The drafts after some approvals and questions were settled, and waiting prompts sent, as these
 * updates say.
 *
 * Words that were written for one and are not what it was settled with become an unsent prompt.
 */
export function settled(drafts: Drafts, session: State, updates: readonly Update[]): Drafts {
  const written = Object.entries(drafts.answers);
  if (!written.length) return drafts;
  const waiting = new Set([
    ...session.approvals.map((one) => one.approvalId),
    ...session.questions.map((one) => one.questionId),
    ...session.queue.map((one) => one.id),
  ]);
  let now = drafts;
  for (const [name, text] of written) {
    const [sessionId, id, field] = JSON.parse(name) as [string, string, string];
    if (sessionId !== session.sessionId || waiting.has(id)) continue;
    now = answering(now, name, "");
    // Changed arguments are no words to the model.
    if (field === "amend" || !text.trim()) continue;
    if (updates.some((one) => words(one, id) === text.trim())) continue;
    now = unsent(now, sessionId, text, field === "queued" ? whyGone(updates, id) : SETTLED);
  }
  return now;
}

/** Why a prompt waits no more. */
function whyGone(updates: readonly Update[], id: string): string {
  const isTakenBack = updates.some(
    (one) =>
      one.sessionUpdate === "cancel_requested" ||
      (one.sessionUpdate === "prompt_changed" && one.promptId === id && one.isDropped),
  );
  return isTakenBack ? TAKEN_BACK : SENT;
}

/** The words that an update says something was settled with; null if it is about another thing. */
function words(update: Update, id: string): string | null {
  if (update.sessionUpdate === "question_resolved" && update.questionId === id) return update.text;
  if (update.sessionUpdate === "permission_resolved" && update.approvalId === id) {
    return update.note;
  }
  return null;
}
