// What the editor's own menus allow must have been seen whole: the light bulb names a command by its
// first words, and a plan by its first line, so its *Allow once* and its *all* show in the panel what
// waits until its end was on the screen.
import type { Lives, Waits } from "./fold/live";
import { allowsSteps } from "./fold/plans";

interface Verb {
  /** The names of its arguments: what it is about, and what is said to it. */
  id: string;
  said: string;
  allows: (said: string, asked: Waits) => boolean;
}

/** The server's commands that settle an approval and a question. */
const VERBS: ReadonlyMap<string, Verb> = new Map([
  [
    "agent-ls.approval.resolve",
    {
      id: "approvalId",
      said: "choice",
      // To change arguments is to allow them.
      allows: (said: string) => said.startsWith("allow_") || said === "amend",
    },
  ],
  [
    "agent-ls.question.resolve",
    {
      id: "questionId",
      said: "text",
      allows: (said: string, { isPlan }: Waits) => isPlan && allowsSteps(said),
    },
  ],
]);

/** An approval or a plan that somebody wants to allow. */
export interface Allowing {
  id: string;
  /** The session in which it waits. */
  sessionId: string;
}

/** What waits and a command of the server would allow; null: it allows nothing. */
export function allowedBy(
  command: string,
  args: readonly unknown[],
  lives: Lives,
): Allowing | null {
  const verb = VERBS.get(command);
  const [id, said] = verb ? given(verb, args) : [];
  if (!verb || typeof id !== "string" || typeof said !== "string") return null;
  for (const [sessionId, { waiting }] of lives) {
    const one = waiting.get(id);
    if (one && verb.allows(said, one)) return { id, sessionId };
  }
  return null;
}

/** A command's two arguments, which come by their names or in their order. */
function given(verb: Verb, args: readonly unknown[]): readonly unknown[] {
  const [first] = args;
  if (typeof first !== "object" || first === null) return args;
  const named = first as Record<string, unknown>;
  return [named[verb.id], named[verb.said]];
}
