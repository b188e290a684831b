// What the extension and its panel say to each other.
//
// The panel gets what the server said and folds it itself; it asks for actions and does none.
import type { Moment } from "./fold/state";
import type {
  AccessResult,
  ApprovalChoice,
  AttachmentInfo,
  ChangePromptParams,
  CompleteResult,
  ConfigResult,
  ContextResult,
  PromptPart,
  ReviewDecideParams,
  ReviewFileResult,
  ReviewTurn,
  SnapshotResult,
  TrustOffer,
  TurnTaken,
  UpdateParams,
} from "./wire";

/** How the server process is. */
export type ServerState =
  | { is: "starting" }
  | { is: "running"; version?: string; misfit?: Misfit }
  /** Nobody has needed it yet, or it was stopped. */
  | { is: "stopped" }
  /** `advice` says what to do about it. */
  | { is: "failed"; problem: string; advice: string; missing?: Missing };

/** Why there is no server to start: there is none, or a setting names what is none. */
export type Missing = "server" | "setting";

/** The running server does not fit this extension. */
export interface Misfit {
  words: string;
  /** The set-up installed this server and can update it. */
  canUpdate: boolean;
}

/** How an installation of the server goes. */
export type InstallState =
  | { is: "idle" }
  | { is: "running"; lines: readonly string[] }
  | { is: "failed"; problem: string; advice: string; lines: readonly string[] };

/** What the set-up knows beside the server's state and the session's choices. */
export interface SetupState {
  install: InstallState;
  /** What the chosen model needs; null: no model is chosen, or it is not known. */
  access: AccessResult | null;
  /** Whether that was found out; an older server cannot say it. */
  isLooked: boolean;
  /** What trusting the open folders would switch on; null: not known yet. */
  offers: readonly TrustOffer[] | null;
  /** What went wrong with a step, by the step. */
  problems: Readonly<Partial<Record<"key" | "trust", string>>>;
}

export type SetupAction =
  | { do: "cancelInstall" }
  /** Keep a key for the provider of the chosen model. */
  | { do: "storeKey"; variable: string; key: string }
  | { do: "trust" };

export type ToPanel =
  | { type: "server"; server: ServerState }
  | { type: "snapshot"; snapshot: SnapshotResult }
  /** There is no session to show. */
  | { type: "refused"; problem: string }
  | { type: "updates"; params: UpdateParams }
  | { type: "config"; config: ConfigResult }
  | { type: "setup"; setup: SetupState }
  /** What the agent changed, oldest turn first. */
  | { type: "review"; turns: ReviewTurn[] }
  /** What became of the files that were last decided about. */
  | { type: "decided"; files: readonly ReviewFileResult[] }
  /** What a restore to a moment came to, or would; the moment is named by `momentId`. */
  | { type: "restore"; momentId: string; restore: Restore }
  /** The session that is shown goes on from another one, which was left. */
  | { type: "rewound"; sessionId: string; from: { sessionId: string; title: string } }
  /** Nothing went back to before the turn. */
  | { type: "notRewound"; turnId: string; problem: string }
  /** What fills the model's window; null, and why: it cannot be told. */
  | { type: "context"; context: ContextResult | null; problem: string }
  /** What the turns took that are over. */
  | { type: "taken"; turns: readonly TurnTaken[] }
  /** What a sub-agent did so far; null, and why: it cannot be told. */
  | { type: "transcript"; sessionId: string; snapshot: SnapshotResult | null; problem: string }
  /** A prompt did not reach the server or the model; null: it was for no session yet. */
  | {
      type: "unsent";
      sessionId: string | null;
      text: string;
      problem: string;
      chips?: readonly Chip[];
    }
  /** An answer came too late or did not arrive: the buttons work again. */
  | { type: "unsettled"; id: string; problem: string }
  /** A waiting call is no single text to change in an editor: its arguments are changed here. */
  | { type: "amendHere"; id: string }
  /** Put the cursor into the prompt, with these words before it and this to go along. */
  | { type: "compose"; text: string; chips?: readonly Chip[] }
  /** Show an approval or a question, with the cursor in it. */
  | { type: "attend"; id: string }
  /** These go with the next prompt; `problem` says what cannot. */
  | { type: "attached"; chips: readonly Chip[]; problem: string }
  /** Where the user is in the editor; null: in no file. */
  | { type: "here"; here: Here | null }
  /** What completes a prompt; `id` is the request's. */
  | { type: "completed"; id: number; result: CompleteResult };

/** Commands that the panel's buttons run; each is `agent-ls.` and its name. */
export const PANEL_COMMANDS = [
  "newSession",
  "pickSession",
  "pickMode",
  "pickModel",
  "trustFolders",
  "installServer",
  "pickInterpreter",
  "changeKey",
  "signIn",
  "restartServer",
  "showLog",
  "openSettings",
  "attach",
] as const;

export type PanelCommand = (typeof PANEL_COMMANDS)[number];

/** Which changes are meant, and what becomes of them. */
export type Decide = ReviewDecideParams;

/** What a restore would come to, or did. */
export type Restore =
  | { is: "foreseen" | "done"; files: readonly ReviewFileResult[] }
  | { is: "failed"; problem: string };

export function momentId({ turnId, toolCallId }: Moment): string {
  return toolCallId ?? turnId;
}

export type ChipKind = AttachmentInfo["kind"] | "image";

/** One thing that goes with a prompt. */
export interface Chip {
  kind: ChipKind;
  /** `prices.py:13-15` */
  name: string;
  /** More about it: the whole path. */
  title: string;
  part: PromptPart;
  /** Of a picture whose bytes the extension keeps; the part has none. */
  imageId?: string;
}

/** Where the user is in the editor. */
export interface Here {
  /** The active file's name. */
  name: string;
  /** `prices.py:13-15`; null: nothing is selected. */
  selection: string | null;
  /** The whole path. */
  title: string;
}

/** What of it goes with a prompt: the selected lines, the file's name and the cursor, or nothing. */
export type HereChoice = "selection" | "file" | "none";

/** What becomes of a prompt that waits in the server's queue. */
export type QueuedChange = Omit<ChangePromptParams, "sessionId">;

export type FromPanel =
  /** The panel was loaded and knows nothing. */
  | { type: "ready" }
  | {
      type: "prompt";
      text: string;
      whenBusy: "steer" | "follow_up";
      /** What goes with it; by default nothing. */
      chips?: readonly Chip[];
      /** By default the selection, if there is one. */
      here?: HereChoice;
    }
  /** Ask what completes a prompt; `text` is what stands before the cursor. */
  | { type: "complete"; id: number; text: string }
  /** Files that were dropped, to be attached. */
  | { type: "drop"; uris: readonly string[] }
  /** Keep a picture's bytes, as a data URL. */
  | { type: "image"; id: string; data: string }
  | { type: "stop" }
  /** Send the prompt that began a turn once more, with what went with it. */
  | { type: "again"; turnId: string }
  /** Go on from before a turn, in a fork of the session: with its prompt to edit, or sent again. */
  | {
      type: "rewind";
      sessionId: string;
      turnId: string;
      then: "edit" | "retry";
      /** Files go back to before this turn; null: they stay. */
      filesTurnId: string | null;
      /** Ask for another model first. */
      isOtherModel: boolean;
    }
  /** Tell what fills the model's window. */
  | { type: "context" }
  /** Change a prompt that waits in the server's queue; what is left out stays. */
  | { type: "changeQueued"; change: QueuedChange }
  /** Shorten the conversation, to make room in the window. */
  | { type: "compact" }
  /** Show another session. */
  | { type: "openSession"; sessionId: string }
  /** Let the turn go on that was cut off. */
  | { type: "continue" }
  | {
      type: "approve";
      approvalId: string;
      choice: ApprovalChoice;
      note: string;
      argumentsJson: string | null;
    }
  /** Change what a waiting call would write or run, in an editor if it is one text. */
  | { type: "amend"; approvalId: string }
  | { type: "answer"; questionId: string; text: string }
  /** Which approval or question is shown, null for none, and whether it was read to its end. */
  | { type: "shown"; id: string | null; isRead: boolean }
  | { type: "run"; command: PanelCommand }
  | { type: "setup"; action: SetupAction }
  /** Tell what a sub-agent did so far. */
  | { type: "transcript"; sessionId: string }
  | { type: "decide"; asked: Decide }
  /** Show what a turn made of a file, side by side. */
  | { type: "diff"; sessionId: string; turnId: string; path: string }
  /** Restore files to a moment, or only say what that would come to. */
  | { type: "restore"; sessionId: string; moment: Moment; isTrial: boolean }
  /** Show a file as it is beside what a decision would have made of it; null: no file. */
  | { type: "compare"; path: string; uri: string | null; wanted: string | null }
  /** Show a place in a file; the line is 0-based. */
  | { type: "open"; uri: string; line: number | null }
  /** Follow a link that the model wrote. */
  | { type: "link"; href: string }
  | { type: "copy"; text: string };

/** What the panel says in a message of this type. */
export type Said<T extends FromPanel["type"]> = Extract<FromPanel, { type: T }>;
