// What the panel knows: the folded session, the server's state, and what went wrong with a request.
//
// Owns no truth: all but the drafts comes from the extension and is gone after a reload.
import { follow, fromSnapshot } from "../fold/reduce";
import { EMPTY, type Item, type State } from "../fold/state";
import type { FromPanel, Here, Restore, ServerState, SetupState, ToPanel } from "../messages";
import type {
  CompleteResult,
  ConfigResult,
  ContextResult,
  ReviewFileResult,
  ReviewTurn,
  TurnTaken,
  Update,
} from "../wire";
import { attached, type Drafts, keyOf, NO_DRAFTS, settled, unsent } from "./drafts";
import { firstNeed, isSetUp } from "./needs";

export interface Known {
  server: ServerState;
  session: State;
  /** Whether the session has been told; before that nothing is shown as empty. */
  isLoaded: boolean;
  /** Why there is no session. */
  refused: string | null;
  config: ConfigResult | null;
  /** What the set-up knows; null before it was told. */
  setup: SetupState | null;
  /** Something was missing, and not all steps of the set-up are done yet. */
  isSettingUp: boolean;
  /** What the agent changed, oldest turn first. */
  review: readonly ReviewTurn[];
  /** What became of the files that were last decided about. */
  decided: readonly ReviewFileResult[];
  /** What restores came to, or would, by the moment's id. */
  restores: Readonly<Record<string, Restore>>;
  /** Why the last way back to before a turn came to nothing; null: none has. */
  notRewound: NotRewound | null;
  /** What turns took that are over, by their id. */
  taken: Taken;
  /** What fills the model's window, or why that is not known; null: nobody has asked. */
  context: { context: ContextResult | null; problem: string } | null;
  /** The session that was left for the one that is shown; null: none, or nobody cares any more. */
  origin: { sessionId: string; title: string } | null;
  /** What the user has written and not sent. */
  drafts: Drafts;
  /** What sub-agents did, as far as it was asked for, by their session. */
  transcripts: Transcripts;
  /** Why an answer to an approval or a question did not count, by its id. */
  unsettled: Readonly<Record<string, Failure>>;
  /** Words to put before the prompt, and how often that was asked for. */
  compose: { text: string; times: number };
  /** The approval whose arguments are to be changed in the panel, and how often that was asked for. */
  amendHere: { id: string; times: number };
  /** Which approval or question is to be looked at, and how often that was asked for. */
  attend: { id: string; times: number };
  /** Where the user is in the editor. */
  here: Here | null;
  /** The newest answer to what completes the prompt. */
  completed: { id: number; result: CompleteResult } | null;
}

export type Taken = ReadonlyMap<string, TurnTaken>;

export interface NotRewound {
  turnId: string;
  problem: string;
}

export type Transcripts = Readonly<Record<string, Transcript>>;

/** What a sub-agent did so far, or why that is not known. */
export type Transcript = { is: "told"; items: readonly Item[] } | { is: "failed"; problem: string };

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
  setup: null,
  isSettingUp: false,
  review: [],
  decided: [],
  restores: {},
  notRewound: null,
  taken: new Map(),
  context: null,
  origin: null,
  drafts: NO_DRAFTS,
  transcripts: {},
  unsettled: {},
  compose: { text: "", times: 0 },
  amendHere: { id: "", times: 0 },
  attend: { id: "", times: 0 },
  here: null,
  completed: null,
};

/** What is known after the extension has said something. */
export function learn(known: Known, said: ToPanel): Known {
  const now = told(known, said);
  const isSettingUp = firstNeed(now) !== null || (known.isSettingUp && !isSetUp(now));
  return isSettingUp === now.isSettingUp ? now : { ...now, isSettingUp };
}

function told(known: Known, said: ToPanel): Known {
  switch (said.type) {
    case "server":
      return { ...known, server: said.server };
    case "snapshot": {
      // What cards of this session were told still holds: nobody asks for it again.
      const isSame = said.snapshot.session.sessionId === known.session.sessionId;
      return {
        ...withSession(known, fromSnapshot(said.snapshot), said.snapshot.updates),
        origin: isSame ? known.origin : null,
        isLoaded: true,
        refused: null,
        unsettled: {},
        decided: [],
        restores: isSame ? known.restores : {},
        context: null,
        transcripts: isSame ? known.transcripts : {},
      };
    }
    case "refused":
      return { ...known, refused: said.problem };
    case "updates":
      return withSession(known, follow(known.session, said.params), said.params.updates);
    case "config":
      return { ...known, config: said.config };
    case "setup":
      return { ...known, setup: said.setup };
    case "review":
      return { ...known, review: said.turns };
    case "decided":
      return { ...known, decided: said.files };
    case "restore":
      return { ...known, restores: { ...known.restores, [said.momentId]: said.restore } };
    case "transcript": {
      const transcript: Transcript = said.snapshot
        ? { is: "told", items: fromSnapshot(said.snapshot).items }
        : { is: "failed", problem: said.problem };
      return { ...known, transcripts: { ...known.transcripts, [said.sessionId]: transcript } };
    }
    case "unsent":
      return {
        ...known,
        drafts: unsent(known.drafts, owner(known, said), said.text, said.problem, said.chips),
      };
    case "unsettled":
      return { ...known, unsettled: { ...known.unsettled, [said.id]: { problem: said.problem } } };
    case "amendHere":
      return { ...known, amendHere: { id: said.id, times: known.amendHere.times + 1 } };
    case "rewound":
      return said.sessionId === known.session.sessionId ? { ...known, origin: said.from } : known;
    case "context":
      return { ...known, context: { context: said.context, problem: said.problem } };
    case "taken":
      return { ...known, taken: new Map(said.turns.map((one) => [one.turnId, one])) };
    case "notRewound":
      return { ...known, notRewound: { turnId: said.turnId, problem: said.problem } };
    case "compose": {
      const { text, chips = [] } = said;
      const drafts = chips.length ? attached(known.drafts, chips, "") : known.drafts;
      return { ...known, drafts, compose: { text, times: known.compose.times + 1 } };
    }
    case "attached":
      return { ...known, drafts: attached(known.drafts, said.chips, said.problem) };
    case "here":
      return { ...known, here: said.here };
    case "completed":
      return { ...known, completed: { id: said.id, result: said.result } };
    case "attend":
      return { ...known, attend: { id: said.id, times: known.attend.times + 1 } };
  }
}

function withSession(known: Known, session: State, updates: readonly Update[]): Known {
  const drafts = settled(known.drafts, session, updates);
  const shown = keyOf(session);
  return { ...known, session, drafts: drafts.shown === shown ? drafts : { ...drafts, shown } };
}

/** The session that an unsent prompt is shown with; empty: with each. */
function owner({ session }: Known, { sessionId }: { sessionId: string | null }): string {
  return sessionId === session.sessionId ? keyOf(session) : (sessionId ?? "");
}

/** How components ask the extension for something. */
export type Post = (said: FromPanel) => void;

/** How components keep what the user writes; what changes nothing that is seen needs no drawing. */
export type Keep = (change: (drafts: Drafts) => Drafts, isSeen?: boolean) => void;
