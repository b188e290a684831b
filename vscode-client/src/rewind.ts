// Going back to before a prompt: the conversation goes on as a fork, files go back when asked to.
//
// Nothing is lost: the session that is left keeps all of its turns and stays in the list.
import type { Conversation } from "./conversation";
import type { Chip, Said } from "./messages";
import type { Review } from "./review";
import type { Agent } from "./server";
import type { ReviewFileResult, SentPromptResult } from "./wire";

interface Parts {
  agent: Agent;
  conversation: Conversation;
  review: Review;
}

/** A prompt as it is sent again. */
export interface SentAgain {
  text: string;
  chips: readonly Chip[];
}

export interface WentBack extends SentAgain {
  /** The session in which it goes on. */
  sessionId: string;
  /** What became of files; empty: none was to go back. */
  files: readonly ReviewFileResult[];
}

/** The prompt that began a turn, with all that went with it. */
export async function sentAgain(
  agent: Agent,
  sessionId: string,
  turnId: string,
): Promise<SentAgain> {
  const sent: SentPromptResult = await agent.request("agent/prompt/sent", { sessionId, turnId });
  return { text: sent.text, chips: sent.parts };
}

/**
 * Go back to before a turn, in a fork that becomes the session that is shown.
 *
 * Files go back first: when that is refused, the conversation stays where it is.
 */
export async function goBack(
  { agent, conversation, review }: Parts,
  { sessionId, turnId, filesTurnId }: Pick<Said<"rewind">, "sessionId" | "turnId" | "filesTurnId">,
  model: string | null,
): Promise<WentBack> {
  const again = await sentAgain(agent, sessionId, turnId);
  const moment = { turnId: filesTurnId ?? "", toolCallId: null };
  const files = filesTurnId === null ? [] : await review.restore(sessionId, moment, false);
  const fork = { sessionId, turn: turnId, isBefore: true };
  const { session } = await agent.request("agent/sessions/fork", fork);
  if (model) await agent.request("agent/config", { sessionId: session.sessionId, model });
  await conversation.refresh();
  return { ...again, sessionId: session.sessionId, files };
}
