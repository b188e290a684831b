// What the editor's own menus allow must have been seen whole: the light bulb names a command by its
// first words, so its *Allow once* shows the request in the panel until its end was on the screen.
import type { Lives } from "./fold/live";

/** The server's command that settles an approval. */
const RESOLVE = "agent-ls.approval.resolve";

/** An approval that somebody wants to allow. */
export interface Allowing {
  approvalId: string;
  /** The session in which it waits. */
  sessionId: string;
}

interface Asked {
  approvalId?: unknown;
  choice?: unknown;
}

/** The approval that waits and that a command of the server would allow; null: it allows nothing. */
export function allowedBy(
  command: string,
  args: readonly unknown[],
  lives: Lives,
): Allowing | null {
  if (command !== RESOLVE) return null;
  const [first, second] = args;
  const isObject = typeof first === "object" && first !== null;
  const { approvalId, choice }: Asked = isObject ? first : { approvalId: first, choice: second };
  if (typeof approvalId !== "string" || typeof choice !== "string") return null;
  // To change arguments is to allow them.
  if (!choice.startsWith("allow_") && choice !== "amend") return null;
  const found = [...lives].find(([, live]) => live.waiting.has(approvalId));
  return found ? { approvalId, sessionId: found[0] } : null;
}
