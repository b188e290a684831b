// Generated from agent_ls/lsp/wire.py by tools/generate_wire.py; do not edit.

export const PROTOCOL_VERSION = 1;

/** Ask how a model is reached, and whether its key or sign-in is there. */
export interface AccessParams {
  model: string;
}

/** What a model needs before it can be asked. */
export interface AccessResult {
  model: ModelRow;
  provider: ProviderRow;
  /** There is no key, or nobody has signed in. */
  isMissing: boolean;
  /** Why it cannot be asked, for the user; empty: it can. */
  problem: string;
  accounts: AccountRow[];
}

/** An account that a user can sign in with instead of a key. */
export interface AccountRow {
  /** As `agent-ls login` takes it. */
  name: string;
  title: string;
  /** What the user needs to have. */
  plan: string;
  /** The part of its models' names before the slash. */
  provider: string;
}

/** The answer, or with `is_partial` a kept piece of it; replaces the step's chunks since the last one of the same step. */
export interface AgentMessage {
  sessionUpdate: "agent_message";
  stepId: string;
  content: TextContent;
  thought: string;
  isPartial: boolean;
}

/** The next piece of the answer's text. */
export interface AgentMessageChunk {
  sessionUpdate: "agent_message_chunk";
  stepId: string;
  content: TextContent;
}

/** The next piece of the model's visible thinking. */
export interface AgentThoughtChunk {
  sessionUpdate: "agent_thought_chunk";
  stepId: string;
  content: TextContent;
}

/** Where the prompt is asked. */
export interface AnchorParams {
  uri: string;
  /** 0-based: the cursor's, or the first that is selected. */
  line?: number;
  /** The last selected line; null: nothing is selected. */
  lastLine?: number | null;
  /** The prompt is the text of the instruction comment nearest to the line. */
  isComment?: boolean;
  /** The editor's diagnostics at the place, where it sends them with a code action. */
  problems?: EditorDiagnostic[];
}

/** The answers a user can give; ACP's words and ours. */
export type ApprovalChoice =
  | "allow_once"
  | "allow_session"
  | "allow_prefix"
  | "allow_always"
  | "reject_once"
  | "reject_always"
  | "amend"
  | "cancelled";

/** Answer an approval. */
export interface ApprovalResolveParams {
  choice?: ApprovalChoice | null;
  /** Without both nothing is decided: the error names what waits. Only `reject_once` needs no id, where one approval waits. */
  approvalId?: string | null;
  sessionId?: string | null;
  /** Words for the model, with a rejection. */
  note?: string;
  /** The changed arguments, with `amend`. */
  argumentsJson?: string | null;
  /** With `amend`: the tool to call instead; null: the same one. */
  tool?: string | null;
  /** With `amend`, instead of arguments: the changed text of `agent/approval/text`. */
  text?: string | null;
}

/** Ask for a waiting call as one text. */
export interface ApprovalTextParams {
  approvalId: string;
  sessionId?: string | null;
}

/** A waiting call as one text that the user may change, then run with `amend`. */
export interface ApprovalTextResult {
  /** What a file would hold, or the command; null: it is neither, change the arguments. */
  text: string | null;
  /** The file; null for a command. */
  location: Location | null;
  /** The file's text now; null for a new file and for a command. */
  before: string | null;
}

/** One thing that came with a prompt, beside its words and images. */
export interface AttachmentInfo {
  /** `selection`: what was selected in the editor. */
  kind: "file" | "range" | "symbol" | "diagnostics" | "folder" | "terminal" | "changes" | "resource" | "selection";
  /** For a chip: `prices.py:13-15`. */
  name: string;
  /** Null: no place of the workspace. */
  location: Location | null;
  /** 0-based; null: the location is one line or a whole file. */
  lastLine: number | null;
  /** What the model does not get of it; empty: nothing. */
  note: string;
}

/** Stop the running turn. */
export interface CancelParams {
  /** Null: every turn that runs. */
  sessionId?: string | null;
}

/** Says whether a turn ran. */
export interface CancelResult {
  cancelled: boolean;
}

/** Somebody asked the turn to stop. */
export interface CancelUpdate {
  sessionUpdate: "cancel_requested";
  by: string;
  /** What was queued and the model never got, oldest first: it is the user's again. */
  returned: string[];
}

/** Change a prompt that waits, or drop it; null: that stays. */
export interface ChangePromptParams {
  promptId: string;
  sessionId?: string | null;
  text?: string | null;
  /** `steer`: send it with the running turn's next request. */
  whenBusy?: "steer" | "follow_up" | null;
  /** The id of the prompt that it goes before; empty: it goes to the end. */
  before?: string | null;
  isDropped?: boolean;
}

/** What became of a prompt that was to be changed. */
export interface ChangePromptResult {
  /** False: it waits no more, so nothing was changed. */
  changed: boolean;
}

/** What git shows as not committed; needs a trusted folder and a sandbox. */
export interface ChangesPart {
  type: "changes";
  /** A folder of the workspace; null: all of them. */
  uri?: string | null;
}

/** The step's chunks so far do not count: the request is sent again. */
export interface ChunksDiscarded {
  sessionUpdate: "agent_chunks_discarded";
  stepId: string;
}

/** One custom command. */
export interface CommandRow {
  name: string;
  description: string;
  /** What to write behind the name; may be empty. */
  argumentHint: string;
}

/** Ask for the custom commands, which a prompt calls by `/NAME`. */
export interface CommandsListParams {
}

/** The custom commands, by name. */
export interface CommandsListResult {
  commands: CommandRow[];
  /** The files that cannot be used, and why, for a user. */
  problems: string[];
}

/** Shorten the conversation: before the running turn's next step, else now. */
export interface CompactParams {
  /** Null: the current session. */
  sessionId?: string | null;
}

/** Answered at once; `compacted` or a notice tells what came of it. */
export interface CompactResult {
  sessionId: string;
}

/** The conversation was shortened, with loss. */
export interface CompactedUpdate {
  sessionUpdate: "compacted";
  origin: string;
  why: string;
  beforeTokens: number;
  afterTokens: number;
}

/** Ask what completes a prompt while it is typed: `@` files, `#` symbols, `/` commands. Cancel the request when more was typed. */
export interface CompleteParams {
  /** The prompt up to the cursor. */
  text: string;
  limit?: number;
}

/** What fits, the likeliest first; answered within two seconds. */
export interface CompleteResult {
  /** The end of the text that a row replaces; empty: there is nothing to complete. */
  word: string;
  rows: CompletionRow[];
  /** Files or symbols are still being read: asking again may find more. */
  isIncomplete: boolean;
}

/** One thing to choose. */
export interface CompletionRow {
  kind: "file" | "folder" | "symbol" | "command";
  label: string;
  /** Where it is, or what it does; may be empty. */
  detail: string;
  /** What to write in place of the word. */
  insert: string;
  /** What to attach; null: nothing. */
  part: FilePart | FolderPart | SymbolPart | null;
}

/** Read the session's choices, and change those that are not null. */
export interface ConfigParams {
  sessionId?: string | null;
  mode?: Mode | null;
  model?: string | null;
  /** How much the model thinks, one of its `efforts`; empty: what `loop.reasoning_effort` says. */
  effort?: string | null;
  /** A policy to leave this session alone. */
  silence?: string | null;
}

/** The session's choices, and what can be chosen. */
export interface ConfigResult {
  sessionId: string;
  mode: Mode;
  model: string;
  /** Empty: what `loop.reasoning_effort` says. */
  effort: string;
  silenced: string[];
  modes: ModeInfo[];
  roots: RootInfo[];
  /** What is wrong with the settings, for a user. */
  problems: string[];
}

/** Ask what fills the model's window in a session. */
export interface ContextParams {
  sessionId: string;
}

/** One part of what is sent to the model. */
export interface ContextPart {
  /** `files`: what was read. `results`: what other calls came to. `history`: prompts, answers, and what was attached. */
  kind: "system" | "rules" | "tools" | "files" | "results" | "history";
  /** An estimate. */
  tokens: number;
}

/** What the next request would hold, before what is said next. */
export interface ContextResult {
  /** The parts together: the provider's count of the last request, and an estimate since. */
  usedTokens: number;
  /** Null: not known. */
  windowTokens: number | null;
  parts: ContextPart[];
}

/** Money. */
export interface Cost {
  amount: number;
  currency: "USD";
}

/** What the editor shows as problems of a file. */
export interface DiagnosticsPart {
  type: "diagnostics";
  uri: string;
  /** Empty: those that the client told by `agent/editorDiagnostics`. */
  diagnostics?: EditorDiagnostic[];
}

/** One diagnostic that the editor has, of whatever server. */
export interface EditorDiagnostic {
  line: number;
  column?: number;
  endLine: number;
  endColumn?: number;
  message: string;
  source?: string;
  code?: string;
  severity?: Severity;
}

/** All that the editor knows of one document, other servers' included. */
export interface EditorDiagnosticsParams {
  uri: string;
  diagnostics: EditorDiagnostic[];
}

/** How much the model thinks was changed. */
export interface EffortUpdate {
  sessionUpdate: "current_effort_update";
  /** Empty: what the setting `loop.reasoning_effort` says. */
  effort: string;
}

/** Why a call has no good result. */
export type ErrorKind =
  | "structural"
  | "denied"
  | "runtime"
  | "timeout"
  | "cancelled"
  | "interrupted";

/** What became of one file edit. */
export interface FileEdited {
  sessionUpdate: "file_edited";
  toolCallId: string;
  location: Location;
  status: "applied" | "stale" | "refused" | "unconfirmed";
  reason: string;
  addedLines: number;
  removedLines: number;
}

/** A file of the workspace: its newest text, unsaved changes included, or the image that it is. An image, or one that the agent may not read without asking, is as for `ImagePart`. */
export interface FilePart {
  type: "file";
  uri: string;
}

/** The findings in these files; they replace the earlier ones. */
export interface FindingsUpdate {
  sessionUpdate: "findings";
  paths: string[];
  findings: FoundProblem[];
  /** Why a checker could not run. */
  problems: string[];
  /** Checkers that still run. */
  unanswered: string[];
}

/** A folder of the workspace: the names of its files, without those that git ignores. */
export interface FolderPart {
  type: "folder";
  uri: string;
}

/** One finding of a checker; the column counts code points. */
export interface FoundProblem {
  path: string;
  uri: string | null;
  checker: string;
  code: string;
  message: string;
  severity: Severity;
  /** 0-based. */
  line: number;
  column: number;
}

/** A gate did not accept the answer. */
export interface GateFailedUpdate {
  sessionUpdate: "gate_failed";
  origin: string;
  text: string;
}

/** An image of the conversation. */
export interface ImageInfo {
  name: string;
  mimeType: string;
  width: number;
  height: number;
  sizeBytes: number;
}

/** An image of a prompt: its bytes, or a file of the workspace. PNG, JPEG, GIF or WebP. */
export interface ImagePart {
  type: "image";
  /** The bytes in base64, of at most 20 MB. */
  data?: string | null;
  /** The file, instead of the bytes; one that the agent may read without asking. */
  uri?: string | null;
  /** What the conversation calls it; by default the file's name, or a number. */
  name?: string;
  /** Not needed: the bytes decide. */
  mimeType?: string;
}

export type JsonValue =
  | unknown;

/** A place in a file. */
export interface Location {
  /** As the agent names it: relative to its root. */
  path: string;
  /** Null for a place outside the workspace. */
  uri: string | null;
  /** 0-based. */
  line: number | null;
}

/** The permission modes, from the most careful to the freest. */
export type Mode =
  | "plan"
  | "ask-all"
  | "ask"
  | "accept-edits"
  | "auto";

/** One permission mode. */
export interface ModeInfo {
  id: Mode;
  name: string;
  description: string;
}

/** The permission mode changed. */
export interface ModeUpdate {
  sessionUpdate: "current_mode_update";
  currentModeId: Mode;
}

/** One model to choose. Null: not known. */
export interface ModelRow {
  /** As `agent/config` takes it. */
  model: string;
  windowTokens: number | null;
  maxOutputTokens: number | null;
  /** In USD per million tokens. */
  inputPrice: number | null;
  /** In USD per million tokens. */
  outputPrice: number | null;
  /** It calls tools, without which the agent can only talk. */
  hasTools: boolean | null;
  takesImages: boolean | null;
  /** What the setting `loop.reasoning_effort` may be; empty: the model does not think. */
  efforts: string[] | null;
}

/** The model changed. */
export interface ModelUpdate {
  sessionUpdate: "current_model_update";
  model: string;
}

/** Ask which models can be used with the keys and sign-ins that are there. */
export interface ModelsParams {
  /** Also list those of known providers that have no key or sign-in yet. */
  isAll?: boolean;
}

/** The models, by provider and name; a local server's are those that it lists itself. */
export interface ModelsResult {
  models: ModelRow[];
  /** Who offers them. */
  providers: ProviderRow[];
  /** What is wrong with a key or a server, for the user. */
  problems: string[];
}

/** Something a user may want to know: a retry, a warning, a changed prefix. */
export interface NoticeUpdate {
  sessionUpdate: "notice";
  level: "info" | "warning" | "error";
  origin: string;
  /** Empty: the notice with this id is taken back, because it is over or something else tells of it. */
  text: string;
  /** The same in at most 8 words, where the text is long. */
  title: string;
  /** A later notice with the same id stands in this one's place; empty: it stands alone. */
  noticeId: string;
}

/** What has streamed of the answer that is being written. */
export interface PartialAnswer {
  stepId: string;
  text: string;
  thought: string;
}

/** One answer to a permission request. */
export interface PermissionOption {
  optionId: ApprovalChoice;
  /** What a button says. */
  name: string;
}

/** A call waits for a user. */
export interface PermissionRequested {
  sessionUpdate: "permission_request";
  approvalId: string;
  toolCallId: string;
  tool: string;
  title: string;
  kind: ToolKind;
  reason: string;
  /** What would happen: the command, or the diff with long lines cut around their changes. */
  payload: string;
  location: Location | null;
  /** The rule that `allow_session` adds. */
  grant: string | null;
  options: PermissionOption[];
  /** The arguments that `amend` may change; null when they are not known. */
  rawInput: JsonValue;
}

/** A permission request is settled. */
export interface PermissionResolved {
  sessionUpdate: "permission_resolved";
  approvalId: string;
  outcome: ApprovalChoice;
  by: string;
  note: string;
}

/** Where a turn stands. */
export type Phase =
  | "check"
  | "compact"
  | "prepare"
  | "call"
  | "act"
  | "judge"
  | "close"
  | "done";

/** The turn went on to another phase. */
export interface PhaseUpdate {
  sessionUpdate: "phase_update";
  phase: Phase;
  /** The number of the step, from 1; 0 before the first. */
  step: number;
  detail: string;
}

/** One line of the agent's plan. */
export interface PlanEntry {
  content: string;
  status: PlanStatus;
}

/** Where one item stands. */
export type PlanStatus =
  | "pending"
  | "in_progress"
  | "completed"
  | "blocked";

/** One call of a plan that a user is asked about. */
export interface PlanStep {
  /** Of the call that runs after a yes. */
  toolCallId: string;
  title: string;
  kind: ToolKind;
  /** The command, or the diff as far as it is known yet. */
  payload: string;
  /** Too long to be approved with the others: after a yes it asks by itself. */
  isAskedAgain: boolean;
}

/** The plan, whole. */
export interface PlanUpdate {
  sessionUpdate: "plan";
  entries: PlanEntry[];
}

/** Say something to the agent; starts a turn, or queues while one runs. */
export interface PromptParams {
  text?: string;
  /** What follows the text, in order. One that cannot be attached refuses the prompt, which then changes nothing. */
  parts?: PromptPart[];
  /** Null: the current session, made on first use. */
  sessionId?: string | null;
  anchor?: AnchorParams | null;
  /** False: nothing of what the editor shows goes along: no active file, no open files, no problems. Not with an anchor. */
  editorState?: boolean;
  whenBusy?: "steer" | "follow_up";
  /** A JSON schema: the turn ends with an object that fits it. */
  outputSchema?: Record<string, unknown> | null;
  /** Makes it a goal turn: `goal`, and maybe `acceptance`, `constraints` and `tests`. */
  goal?: Record<string, unknown> | null;
}

/** A part of a prompt; tagged by `type`. */
export type PromptPart =
  | TextPart
  | ImagePart
  | FilePart
  | RangePart
  | SymbolPart
  | DiagnosticsPart
  | FolderPart
  | TerminalPart
  | ChangesPart
  | SentPart;

/** Answered at once; what follows comes as updates. */
export interface PromptResult {
  sessionId: string;
  turnId: string;
}

/** What went wrong with a model request, the same for all providers. */
export type ProviderFailure =
  | "rate_limited"
  | "overloaded"
  | "server"
  | "connection"
  | "timeout"
  | "broken_stream"
  | "host_died"
  | "authentication"
  | "no_key"
  | "not_signed_in"
  | "forbidden"
  | "no_credit"
  | "bad_request"
  | "unknown_model"
  | "no_model"
  | "context_overflow"
  | "content_filter"
  | "no_images"
  | "bad_image";

/** Who offers models, and what is needed to use them. */
export interface ProviderRow {
  /** The part of a model's name before the slash; empty: not known. */
  provider: string;
  /** The environment variable that holds the key; null: it takes no key. */
  keyVariable: string | null;
  /** The account that `agent-ls login` signs in with; null: it takes a key, or nothing. */
  signIn: string | null;
  /** Its key or sign-in is there, or none is needed. */
  isReady: boolean;
}

/** The turn waits for a user's words. */
export interface QuestionAsked {
  sessionUpdate: "question";
  questionId: string;
  origin: string;
  text: string;
  options: string[];
  /** Of a plan: its steps, which `text` tells too; empty for any other question. */
  steps: PlanStep[];
}

/** Answer a question. */
export interface QuestionResolveParams {
  text: string;
  /** Null: the one that waits; an error when several do. */
  questionId?: string | null;
  sessionId?: string | null;
}

/** A question is settled. */
export interface QuestionResolved {
  sessionUpdate: "question_resolved";
  questionId: string;
  text: string;
  by: string;
}

/** A prompt that waits was changed, moved or dropped; null: that stays. */
export interface QueuedPromptChange {
  sessionUpdate: "prompt_changed";
  promptId: string;
  text: string | null;
  whenBusy: "steer" | "follow_up" | null;
  /** The id of the prompt that it now goes before; empty: it goes to the end. */
  before: string | null;
  isDropped: boolean;
}

/** A prompt waits: for the next request (`steer`) or for the turn's end. */
export interface QueuedUpdate {
  sessionUpdate: "prompt_queued";
  content: TextContent;
  images: ImageInfo[] | null;
  attachments: AttachmentInfo[] | null;
  whenBusy: "steer" | "follow_up";
  /** For `agent/prompt/change` while it waits; empty: it cannot be changed. */
  promptId: string;
}

/** Lines of a file of the workspace. */
export interface RangePart {
  type: "range";
  uri: string;
  /** 0-based, the first one. */
  line: number;
  lastLine: number;
}

/** False: it was already settled, or nothing waits; an unknown id is an error. */
export interface ResolveResult {
  settled: boolean;
}

/** Both versions of a file that was left as it is; null: no file. */
export interface ReviewConflict {
  now: string | null;
  /** The text that the decision asks for. */
  wanted: string | null;
}

/** Decide about changes; the more fields are given, the fewer changes are meant. `restore` needs a turn: the files it and later turns touched go back to its beginning, or to how they were before one of its calls. */
export interface ReviewDecideParams {
  decision: "keep" | "undo" | "redo" | "restore";
  sessionId?: string | null;
  /** Null: all turns. */
  turnId?: string | null;
  /** With `restore`: the call; what came before it in the turn stays. */
  toolCallId?: string | null;
  /** With `restore`: only say what would become of each file. */
  dryRun?: boolean;
  /** Null: all files. */
  path?: string | null;
  /** Null: all changes. */
  hunkIds?: string[] | null;
}

/** Sent when all of it is done. */
export interface ReviewDecideResult {
  files: ReviewFileResult[];
}

/** Ask for the text of a file before a turn's first touch, for a diff editor. */
export interface ReviewDiffParams {
  turnId: string;
  path: string;
  sessionId?: string | null;
}

/** The two sides; null: no file. A file that is no text is shown by its kind and size. */
export interface ReviewDiffResult {
  before: string | null;
  /** As the agent left it. */
  after: string | null;
  uri: string | null;
}

/** One file that a turn changed. */
export interface ReviewFile {
  location: Location;
  turnId: string;
  movedFrom: string | null;
  hunks: ReviewHunk[];
}

/** What became of one file. */
export interface ReviewFileResult {
  location: Location;
  turnId: string;
  status: "done" | "nothing" | "conflict" | "refused";
  hunks: number;
  reason: string;
  /** With `restore`: what it does to the file. */
  edit: "change" | "create" | "delete" | "move" | null;
  conflict: ReviewConflict | null;
}

/** One change of the agent's. */
export interface ReviewHunk {
  hunkId: string;
  kind: "text" | "created" | "deleted" | "moved" | "opaque";
  state: "open" | "kept" | "undone";
  /** 0-based, its first line in the text as it is now. */
  line: number;
  /** The line after the last one; equal to `line` where lines were only removed. */
  endLine: number;
  addedLines: number;
  removedLines: number;
  /** The same lines were changed since, so an undo is a conflict. */
  isChangedSince: boolean;
  /** Only a blank line parts it from the one before, in the same state: a list may show the two as one change, and a decision about it names both. */
  continues: boolean;
  /** A new line, else an old one; of a moved file its earlier name; of an `opaque` one (no text, or too large) kinds and sizes. */
  title: string;
  old: string | null;
  new: string | null;
}

/** Ask what the agent changed and how it stands. */
export interface ReviewListParams {
  /** Null: all sessions that are open here. */
  sessionId?: string | null;
  /** Send the old and the new lines, too. */
  withText?: boolean;
}

/** Oldest turn first; turns without changes are left out. */
export interface ReviewListResult {
  turns: ReviewTurn[];
}

/** One turn with changes. */
export interface ReviewTurn {
  sessionId: string;
  turnId: string;
  prompt: string;
  files: ReviewFile[];
  /** The calls that changed files, in the model's order: files can be restored to before each. */
  toolCallIds: string[];
  /** How many more files its commands changed; these are not reviewed and cannot be undone. */
  leftFiles: number;
}

/** The user decided about the agent's changes in a file, or the edit for that ended. Ask for `agent/review/list` to see how the changes stand now. */
export interface ReviewUpdate {
  sessionUpdate: "review_update";
  reviewId: string;
  /** Null in the update about the end. */
  decision: "keep" | "undo" | "redo" | "restore" | null;
  location: Location;
  hunks: string[];
  /** With a decision: the turn whose changes it is about. */
  turnId: string | null;
  /** With `restore`: the call that the file goes back before; null: the turn's beginning. */
  toolCallId: string | null;
  status: "in_progress" | "applied" | "stale" | "refused" | "unconfirmed";
  reason: string;
}

/** One folder the agent works in. */
export interface RootInfo {
  name: string;
  uri: string;
  isTrusted: boolean;
}

/** Save these documents, because something is about to read the disk. */
export interface SaveParams {
  uris: string[];
}

/** Those that could not be saved. */
export interface SaveResult {
  unsaved?: string[];
}

/** What went with an earlier prompt, as it was then: an image, or another attachment. */
export interface SentPart {
  type: "sent";
  sessionId: string;
  /** The turn that the prompt began. */
  turnId: string;
  kind: "image" | "attachment";
  /** 0-based, among those of its kind. */
  index: number;
}

/** Ask for the prompt that began a turn, to change it or to send it again. */
export interface SentPromptParams {
  sessionId: string;
  turnId: string;
}

/** One thing that went with a prompt, as it goes along again. */
export interface SentPromptPart {
  kind: "file" | "range" | "symbol" | "diagnostics" | "folder" | "terminal" | "changes" | "resource" | "image";
  /** For a chip: `prices.py:13-15`. */
  name: string;
  /** More about it: the whole path. */
  title: string;
  /** Files and folders are read anew; all else is sent as it was. */
  part: FilePart | FolderPart | RangePart | SymbolPart | SentPart;
}

/** A prompt that was sent. */
export interface SentPromptResult {
  /** The user's words; of a custom command what it stood for. */
  text: string;
  /** What was selected in the editor first, as lines of its file. */
  parts: SentPromptPart[];
}

/** The session that was meant. */
export interface SessionChanged {
  sessionId: string;
}

/** The session was created. */
export interface SessionCreatedUpdate {
  sessionUpdate: "session_created";
  mode: Mode;
  model: string;
}

/** One session. */
export interface SessionInfo {
  sessionId: string;
  title: string;
  mode: Mode;
  model: string;
  /** Of the last turn; null before the first. */
  status: TurnStatus | null;
  turns: number;
  /** Its last turn, or its queue, was cut off and waits to be resumed. */
  isInterrupted: boolean;
}

/** The session that was opened; ask for its snapshot. */
export interface SessionResult {
  session: SessionInfo;
}

/** An unfinished turn was repaired after its process died. */
export interface SessionResumedUpdate {
  sessionUpdate: "session_resumed";
  /** Calls whose effect is unknown. */
  interruptedToolCalls: string[];
}

/** One row of a session list. */
export interface SessionRow {
  sessionId: string;
  title: string;
  /** The kind of sub-agent; empty for a session of the user's. */
  agent: string;
  /** The URIs of its folders. */
  roots: string[];
  /** These folders are the ones that are open. */
  isHere: boolean;
  /** Wall clock, milliseconds since 1970. */
  updatedMs: number;
  turns: number;
  /** Of the last turn. */
  status: string;
  /** Its last turn was cut off and can be resumed. */
  isInterrupted: boolean;
  /** This server has it open. */
  isOpen: boolean;
  /** The session it branched off from; empty for one that began by itself. */
  forkedFrom: string;
  /** A dry run: nothing was really done. */
  isDryRun: boolean;
  isArchived: boolean;
  /** How many sub-agents it has started. */
  subAgents: number;
  /** Of a sub-agent that was asked for by its parent: the turn that started it; else empty. */
  turnId: string;
  /** The first line of that turn's prompt. */
  turnPrompt: string;
  /** With a query: the newest words around it; empty when it is in the title. */
  found: string;
  cost: Cost;
}

/** Hide a session from lists, or show it again; a new turn shows it, too. */
export interface SessionsArchiveParams {
  sessionId: string;
  isArchived?: boolean;
}

/** Delete a session and its sub-agents' for good, unless it works right now. */
export interface SessionsDeleteParams {
  sessionId: string;
}

/** Ask for a session as a text to read. */
export interface SessionsExportParams {
  sessionId: string;
}

/** A session as Markdown: one chapter a turn. */
export interface SessionsExportResult {
  markdown: string;
}

/** Begin a session that knows what another one knew after a turn; it becomes the current one. */
export interface SessionsForkParams {
  /** Null: the current session. */
  sessionId?: string | null;
  /** An id, or a number from 1; null: the newest turn that is over. */
  turn?: number | string | null;
  /** Know what it knew before that turn, which may still run. */
  isBefore?: boolean;
}

/** Ask for the sessions of this workspace; those in which nobody spoke are left out. */
export interface SessionsListParams {
  /** Those of other folders, too. */
  everywhere?: boolean;
  withArchived?: boolean;
  /** Not empty: only the sub-agents of this session, as they were started. */
  parentId?: string;
  /** Only those with all of these words, in any case, in the title, a prompt or an answer. */
  query?: string;
}

/** Newest first, at most 500. */
export interface SessionsListResult {
  sessions: SessionRow[];
}

/** Begin another session; it becomes the current one. */
export interface SessionsNewParams {
  mode?: Mode | null;
  model?: string | null;
}

/** Give a session another title. */
export interface SessionsRenameParams {
  sessionId: string;
  title: string;
}

/** Open a stored session; it becomes the current one. */
export interface SessionsResumeParams {
  /** Null: the one that was cut off last. */
  sessionId?: string | null;
  /** Go on with a turn that was cut off. */
  continueTurn?: boolean;
}

/** How bad a finding is; only errors and warnings can fail a gate. */
export type Severity =
  | "error"
  | "warning"
  | "information"
  | "hint";

/** The user told a policy to leave the session alone. */
export interface SilencedUpdate {
  sessionUpdate: "policy_silenced";
  origin: string;
}

/** Ask for the whole session, after a reload. */
export interface SnapshotParams {
  sessionId?: string | null;
}

/** A session as it is now: fold the updates, then add the partial answer. */
export interface SnapshotResult {
  session: SessionInfo;
  /** Updates with a seq not greater than this are included. */
  seq: number;
  updates: Update[];
  partial: PartialAnswer | null;
}

/** Say something to the running turn; starts one when none runs. */
export interface SteerParams {
  text: string;
  sessionId?: string | null;
}

/** Why a turn ended. */
export type StopReason =
  | "completed"
  | "final_output"
  | "max_steps"
  | "budget_limit"
  | "resource_limit"
  | "context_full"
  | "incomplete_action"
  | "unverified"
  | "open_tasks"
  | "timeout"
  | "loop_detected"
  | "low_confidence"
  | "refusal"
  | "blocked"
  | "error"
  | "cancelled";

/** A call started a sub-agent, or its sub-agent ended. `agent/snapshot` of its session tells what it did. */
export interface SubAgentUpdate {
  sessionUpdate: "sub_agent";
  toolCallId: string;
  agentSessionId: string;
  kind: string;
  task: string;
  status: "in_progress" | "completed" | "failed";
  /** Null while it runs. */
  stopReason: StopReason | null;
  /** Why it stopped, unless it was done. */
  reason: string;
  steps: number;
}

/** A definition in a file of the workspace. */
export interface SymbolPart {
  type: "symbol";
  uri: string;
  /** With what encloses it: `Cart.total`. */
  name: string;
  /** 0-based, to choose between definitions of one name. */
  line: number;
}

/** What was selected in a terminal. */
export interface TerminalPart {
  type: "terminal";
  text: string;
  /** The terminal's. */
  name?: string;
}

/** A piece of text. */
export interface TextContent {
  type: "text";
  text: string;
}

/** Words of a prompt. */
export interface TextPart {
  type: "text";
  text: string;
}

/** Tokens; the input includes the cached ones. */
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** The guards decided whether the call may run. */
export interface ToolCallDecision {
  sessionUpdate: "tool_call_decision";
  toolCallId: string;
  decision: "allow" | "ask" | "deny" | "defer";
  origin: string;
  reason: string;
}

/** A running call printed something. */
export interface ToolCallOutput {
  sessionUpdate: "tool_call_output";
  toolCallId: string;
  content: TextContent;
}

/** A call went on; null fields are unchanged. */
export interface ToolCallProgress {
  sessionUpdate: "tool_call_update";
  toolCallId: string;
  status: "pending" | "in_progress" | "completed" | "failed";
  locations: Location[] | null;
  /** What the model reads of it. */
  content: TextContent | null;
  /** What the model looks at beside the text. */
  images: ImageInfo[] | null;
  /** Structured facts. */
  rawOutput: JsonValue;
  /** Why it failed. */
  error: ErrorKind | null;
  /** How it ended: `ok`, the error, `exit code 3`, `killed`, `skipped`, `queued` or `dry run`; null until then. */
  outcome: string | null;
  durationMs: number | null;
}

/** The model asked for a call. */
export interface ToolCallUpdate {
  sessionUpdate: "tool_call";
  toolCallId: string;
  stepId: string;
  tool: string;
  /** One line for a user. */
  title: string;
  kind: ToolKind;
  status: "pending";
  /** The arguments; a string when they are not JSON. */
  rawInput: JsonValue;
}

/** What a tool is to a user, in the Agent Client Protocol's words. */
export type ToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "other";

/** What trusting one folder would switch on. */
export interface TrustOffer {
  uri: string;
  isTrusted: boolean;
  switchesOn: string[];
  /** What the folder holds but never counts, such as hooks. */
  staysOff: string[];
}

/** Trust folders, or ask what that would switch on. */
export interface TrustParams {
  /** A URI or an absolute path; null: all folders that are open. */
  folder?: string | null;
  /** The user has seen what it switches on and said yes. */
  isAgreed?: boolean;
}

/** The folders that were asked about. */
export interface TrustResult {
  folders: TrustOffer[];
}

/** The turn is over. */
export interface TurnEndedUpdate {
  sessionUpdate: "turn_ended";
  turnId: string;
  stopReason: StopReason;
  status: TurnStatus;
  output: string;
  failureReason: string;
  /** How it ended in at most 8 words. */
  title: string;
  /** What went wrong with the model, when that ended the turn. */
  failure: ProviderFailure | null;
  /** What to offer next, the most likely one first. */
  actions: ("retry" | "go_on" | "change_key" | "sign_in" | "choose_model" | "new_session" | "open_settings" | "show_log")[];
  openTasks: string[];
}

/** A prompt began a turn; the prompt itself follows as a user message. */
export interface TurnStartedUpdate {
  sessionUpdate: "turn_started";
  turnId: string;
  anchor: Location | null;
}

/** How a turn counts. */
export type TurnStatus =
  | "running"
  | "waiting"
  | "success"
  | "partial"
  | "escalated"
  | "failed"
  | "cancelled";

/** What a turn took, its sub-agents included. */
export interface TurnTaken {
  turnId: string;
  /** Without the time in which it waited for the user, or its process was gone. */
  durationMs: number;
  steps: number;
  /** 0 also where the model's price is not known. */
  cost: Cost;
  tokens: TokenUsage;
}

/** Ask what the turns of a session took that are over. */
export interface TurnsParams {
  sessionId: string;
}

/** Oldest turn first. */
export interface TurnsResult {
  turns: TurnTaken[];
}

/** One thing that happened; tagged by `sessionUpdate`. */
export type Update =
  | SessionCreatedUpdate
  | SessionResumedUpdate
  | ModeUpdate
  | ModelUpdate
  | EffortUpdate
  | SilencedUpdate
  | QueuedUpdate
  | QueuedPromptChange
  | TurnStartedUpdate
  | UserMessageUpdate
  | PhaseUpdate
  | AgentMessageChunk
  | AgentThoughtChunk
  | ChunksDiscarded
  | AgentMessage
  | ToolCallUpdate
  | ToolCallProgress
  | ToolCallDecision
  | ToolCallOutput
  | SubAgentUpdate
  | FileEdited
  | ReviewUpdate
  | PlanUpdate
  | UsageUpdate
  | PermissionRequested
  | PermissionResolved
  | QuestionAsked
  | QuestionResolved
  | FindingsUpdate
  | GateFailedUpdate
  | NoticeUpdate
  | CompactedUpdate
  | CancelUpdate
  | TurnEndedUpdate;

/** What happened in a session since the last notification, in order. */
export interface UpdateParams {
  sessionId: string;
  /** Of the last stored event that is included; a snapshot with at least this seq has it. */
  seq: number;
  updates: Update[];
}

/** Tokens in the context and money spent by the session. */
export interface UsageUpdate {
  sessionUpdate: "usage_update";
  /** Tokens of the last request and its answer; after a compaction an estimate of what is left. */
  used: number;
  /** The model's window; null when unknown. */
  size: number | null;
  cost: Cost;
  total: TokenUsage;
}

/** Text in the user's role. */
export interface UserMessageUpdate {
  sessionUpdate: "user_message_chunk";
  content: TextContent;
  /** What came with it; the text mentions each. */
  images: ImageInfo[] | null;
  /** What else came with it; the text does not mention it. */
  attachments: AttachmentInfo[] | null;
  /** `user`, or the name of the policy that wrote it. */
  origin: string;
}

/** Requests to the server. */
export interface AgentRequests {
  "agent/prompt": { params: PromptParams; result: PromptResult };
  "agent/prompt/sent": { params: SentPromptParams; result: SentPromptResult };
  "agent/prompt/change": { params: ChangePromptParams; result: ChangePromptResult };
  "agent/steer": { params: SteerParams; result: PromptResult };
  "agent/cancel": { params: CancelParams; result: CancelResult };
  "agent/compact": { params: CompactParams; result: CompactResult };
  "agent/snapshot": { params: SnapshotParams; result: SnapshotResult };
  "agent/context": { params: ContextParams; result: ContextResult };
  "agent/turns": { params: TurnsParams; result: TurnsResult };
  "agent/sessions/list": { params: SessionsListParams; result: SessionsListResult };
  "agent/sessions/new": { params: SessionsNewParams; result: SessionResult };
  "agent/sessions/resume": { params: SessionsResumeParams; result: SessionResult };
  "agent/sessions/fork": { params: SessionsForkParams; result: SessionResult };
  "agent/sessions/rename": { params: SessionsRenameParams; result: SessionChanged };
  "agent/sessions/archive": { params: SessionsArchiveParams; result: SessionChanged };
  "agent/sessions/delete": { params: SessionsDeleteParams; result: SessionChanged };
  "agent/sessions/export": { params: SessionsExportParams; result: SessionsExportResult };
  "agent/approval/resolve": { params: ApprovalResolveParams; result: ResolveResult };
  "agent/approval/text": { params: ApprovalTextParams; result: ApprovalTextResult };
  "agent/question/resolve": { params: QuestionResolveParams; result: ResolveResult };
  "agent/review/list": { params: ReviewListParams; result: ReviewListResult };
  "agent/review/decide": { params: ReviewDecideParams; result: ReviewDecideResult };
  "agent/review/diff": { params: ReviewDiffParams; result: ReviewDiffResult };
  "agent/config": { params: ConfigParams; result: ConfigResult };
  "agent/commands/list": { params: CommandsListParams; result: CommandsListResult };
  "agent/complete": { params: CompleteParams; result: CompleteResult };
  "agent/models": { params: ModelsParams; result: ModelsResult };
  "agent/access": { params: AccessParams; result: AccessResult };
  "agent/trust": { params: TrustParams; result: TrustResult };
}

/** Notifications to the server. */
export interface AgentNotifications {
  "agent/editorDiagnostics": { params: EditorDiagnosticsParams };
}

/** Requests to the client. */
export interface ClientRequests {
  "agent/save": { params: SaveParams; result: SaveResult };
}

/** Notifications to the client. */
export interface ClientNotifications {
  "agent/update": { params: UpdateParams };
}
