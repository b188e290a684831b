// What the panel knows: the folded session, the server's state, and what went wrong with a request.
//
// Owns no truth: everything in here comes from the extension and is gone after a reload.
import { follow, fromSnapshot } from "../fold/reduce";
import { EMPTY, type State } from "../fold/state";
import type { FromPanel, Restore, ServerState, ToPanel } from "../messages";
import type { ConfigResult, ReviewFileResult, ReviewTurn } from "../wire";

export interface Known {
  server: ServerState;
  session: State;
  /** Whether the session has been told; before that nothing is shown as empty. */
  isLoaded: boolean;
  /** Why there is no session. */
  refused: string | null;
  config: ConfigResult | null;
  /** What the agent changed, oldest turn first. */
  review: readonly ReviewTurn[];
  /** What became of the files that were last decided about. */
  decided: readonly ReviewFileResult[];
  /** What restores came to, or would, by the moment's id. */
  restores: Readonly<Record<string, Restore>>;
  /** Prompts that were not taken or not delivered, oldest first. */
  unsent: readonly { text: string; problem: string }[];
  /** Why an answer to an approval or a question did not count, by its id. */
  unsettled: Readonly<Record<string, Failure>>;
  /** Words to put before the prompt, and how often that was asked for. */
  compose: { text: string; times: number };
}

/** An object, so that the same problem twice is two failures. */
export interface Failure {
  problem: string;
}

export const UNKNOWN: Known = {
  server: { is: "starting" },
  session: EMPTY,
  isLoaded: false,
  refused: null,
  config: null,
  review: [],
  decided: [],
  restores: {},
  unsent: [],
  unsettled: {},
  compose: { text: "", times: 0 },
};

/** What is known after the extension has said something. */
export function learn(known: Known, said: ToPanel): Known {
  switch (said.type) {
    case "server":
      return { ...known, server: said.server };
    case "snapshot":
      return {
        ...known,
        isLoaded: true,
        refused: null,
        session: fromSnapshot(said.snapshot),
        unsettled: {},
        decided: [],
        restores: {},
      };
    case "refused":
      return { ...known, refused: said.problem };
    case "updates":
      return { ...known, session: follow(known.session, said.params) };
    case "config":
      return { ...known, config: said.config };
    case "review":
      return { ...known, review: said.turns };
    case "decided":
      return { ...known, decided: said.files };
    case "restore":
      return { ...known, restores: { ...known.restores, [said.momentId]: said.restore } };
    case "unsent":
      return {
        ...known,
        unsent: [...known.unsent, { text: said.text, problem: said.problem }],
      };
    case "unsettled":
      return { ...known, unsettled: { ...known.unsettled, [said.id]: { problem: said.problem } } };
    case "compose":
      return { ...known, compose: { text: said.text, times: known.compose.times + 1 } };
  }
}

/** How components ask the extension for something. */
export type Post = (said: FromPanel) => void;
