// What a session looks like to a user: the state that updates add up to.
//
// Owns shapes only; `reduce.ts` makes the states. Everything here is plain data and never changed
// in place, so that the view can tell what is new by comparing references.
import type {
  AttachmentInfo,
  ErrorKind,
  FileEdited,
  FoundProblem,
  ImageInfo,
  JsonValue,
  Location,
  Mode,
  PermissionRequested,
  Phase,
  PlanEntry,
  PlanStep,
  QuestionAsked,
  StopReason,
  SubAgentUpdate,
  ToolCallProgress,
  ToolKind,
  TurnEndedUpdate,
  TurnStatus,
  UsageUpdate,
} from "../wire";

export interface State {
  sessionId: string;
  title: string;
  mode: Mode;
  model: string;
  /** How much the model thinks; empty: as the setting says. */
  effort: string;
  /** The transcript, oldest first. */
  items: readonly Item[];
  /** The turn that runs now. */
  turn: Turn | null;
  /** What was cut off and waits until the user lets it go on; without a turn only the queue waits. */
  cutOff: { turn: Turn | null } | null;
  /** What waits for a user, oldest first. */
  approvals: readonly PermissionRequested[];
  questions: readonly QuestionAsked[];
  queue: readonly Queued[];
  plan: readonly PlanEntry[];
  usage: UsageUpdate | null;
  /** Of the last stored event that is in here. */
  seq: number;
  /** Where files are being restored to right now, by the id of the decision. */
  restoring: Readonly<Record<string, Moment>>;
  /** The key of the next item. */
  nextKey: number;
}

/** What files can be restored to: before a turn, or before a call of it. */
export interface Moment {
  turnId: string;
  toolCallId: string | null;
}

export interface Turn {
  id: string;
  phase: Phase;
  step: number;
  isStopping: boolean;
  /** What began it. */
  prompt: string;
  /** The key of the first item that belongs to the turn. */
  firstKey: number;
  costBefore: number;
  /** Where in a document the turn was asked for. */
  anchor: Location | null;
}

export interface Queued {
  /** Empty: it cannot be changed while it waits. */
  id: string;
  text: string;
  whenBusy: "steer" | "follow_up";
}

export type Item =
  | UserItem
  | AnswerItem
  | CallItem
  | NudgeItem
  | GateItem
  | NoticeItem
  | FindingsItem
  | AskedItem
  | CompactedItem
  | ResumedItem
  | EndItem;

export interface Keyed {
  key: number;
}

/** What the user said. */
export interface UserItem extends Keyed {
  kind: "user";
  text: string;
  /** Said while a turn ran, and given to that turn. */
  isSteer: boolean;
  /** Where in a document it was asked; null when it was typed here. */
  anchor: Location | null;
  /** What went with it; the text mentions each of the images. */
  attachments: readonly AttachmentInfo[];
  images: readonly ImageInfo[];
  /** The turn that began with it; null for what was said later. */
  turnId: string | null;
  /** Files were restored to before the turn. */
  isRestored: boolean;
}

/** What the model said in one step. */
export interface AnswerItem extends Keyed {
  kind: "answer";
  stepId: string;
  /** Pieces that are kept already; what streams now follows them. */
  kept: string;
  text: string;
  keptThought: string;
  thought: string;
  isStreaming: boolean;
}

/** One tool call and what came of it. */
export interface CallItem extends Keyed {
  kind: "call";
  id: string;
  turnId: string;
  /** Empty until the model has finished writing the call, which may already run. */
  tool: string;
  title: string;
  toolKind: ToolKind;
  status: ToolCallProgress["status"];
  input: JsonValue;
  locations: readonly Location[];
  /** What it printed while it ran, at most the last `MAX_OUTPUT` characters. */
  output: string;
  /** What the model reads of it; null while it has no result. */
  result: string | null;
  error: ErrorKind | null;
  /** How a command ended that did not end with 0: `exit code 3`; empty for any other call. */
  badExit: string;
  /** Why it had no effect although nothing failed: `skipped`, `queued`, `dry run`; else empty. */
  notRun: string;
  durationMs: number | null;
  edits: readonly FileEdited[];
  /** Why it was refused or put off, in the guard's words. */
  refusal: string;
  /** How a user decided, once one had to. */
  answer: "allowed" | "rejected" | "amended" | "cancelled" | null;
  /** What the user said with it; may be empty. */
  note: string;
  /** The sub-agent that it started. */
  agent: SubAgentUpdate | null;
  /** Files were restored to before it. */
  isRestored: boolean;
}

/** What the machine told the model. */
export interface NudgeItem extends Keyed {
  kind: "nudge";
  origin: string;
  text: string;
}

/** A gate did not accept the answer. */
export interface GateItem extends Keyed {
  kind: "gate";
  origin: string;
  text: string;
  /** The model was told and goes on. */
  isNudged: boolean;
}

export interface NoticeItem extends Keyed {
  kind: "notice";
  /** Of a notice that may be updated in place; empty: it stands alone. */
  id: string;
  level: "info" | "warning" | "error";
  text: string;
  /** The same in a few words; empty where the text is short. */
  title: string;
}

/** What the checkers said at this point. */
export interface FindingsItem extends Keyed {
  kind: "findings";
  paths: readonly string[];
  findings: readonly FoundProblem[];
  problems: readonly string[];
  /** Checkers that still looked then. */
  unanswered: readonly string[];
}

/** A question that has been answered. */
export interface AskedItem extends Keyed {
  kind: "asked";
  text: string;
  answer: string;
  /** Of a plan; empty for any other question. */
  steps: readonly AskedStep[];
}

/** One step of a plan that the user has decided on. */
export interface AskedStep extends PlanStep {
  mark: StepMark;
}

/** What became of a step; `left out`: the user did not want it. */
export type StepMark = "chosen" | "running" | "ran" | "failed" | "did not run" | "left out";

export interface CompactedItem extends Keyed {
  kind: "compacted";
  why: string;
  beforeTokens: number;
  afterTokens: number;
}

export interface ResumedItem extends Keyed {
  kind: "resumed";
  interrupted: readonly string[];
}

/** What can be offered after a turn. */
export type NextAction = TurnEndedUpdate["actions"][number];

/** How a turn ended. */
export interface EndItem extends Keyed {
  kind: "end";
  turnId: string;
  status: TurnStatus;
  stopReason: StopReason;
  /** How it ended in a few words. */
  title: string;
  /** What to offer next, the most likely one first. */
  actions: readonly NextAction[];
  reason: string;
  /** What began the turn. */
  prompt: string;
  /** Words that no answer above says. */
  output: string;
  openTasks: readonly string[];
  steps: number;
  cost: number;
  files: readonly ChangedFile[];
}

export interface ChangedFile {
  location: Location;
  added: number;
  removed: number;
}

/** What a panel shows before the server has said anything. */
export const EMPTY: State = {
  sessionId: "",
  title: "",
  mode: "ask",
  model: "",
  effort: "",
  items: [],
  turn: null,
  cutOff: null,
  approvals: [],
  questions: [],
  queue: [],
  plan: [],
  usage: null,
  seq: 0,
  restoring: {},
  nextKey: 0,
};

const TITLE_CHARACTERS = 80;

/** What a session is called: its first prompt, before the server has named it. */
export function title({ title: given, items }: State): string {
  if (given) return given;
  const first = items.find((one) => one.kind === "user");
  return first?.kind === "user"
    ? (first.text.trim().split("\n")[0] ?? "").slice(0, TITLE_CHARACTERS)
    : "";
}
