// The icons of the editor itself, as inline pictures: no font to load, coloured by the text.
import add from "@vscode/codicons/src/icons/add.svg";
import arrowSwap from "@vscode/codicons/src/icons/arrow-swap.svg";
import arrowUp from "@vscode/codicons/src/icons/arrow-up.svg";
import book from "@vscode/codicons/src/icons/book.svg";
import check from "@vscode/codicons/src/icons/check.svg";
import checklist from "@vscode/codicons/src/icons/checklist.svg";
import chevronDown from "@vscode/codicons/src/icons/chevron-down.svg";
import chevronLeft from "@vscode/codicons/src/icons/chevron-left.svg";
import chevronRight from "@vscode/codicons/src/icons/chevron-right.svg";
import chevronUp from "@vscode/codicons/src/icons/chevron-up.svg";
import circle from "@vscode/codicons/src/icons/circle.svg";
import circleFilled from "@vscode/codicons/src/icons/circle-filled.svg";
import circleSlash from "@vscode/codicons/src/icons/circle-slash.svg";
import close from "@vscode/codicons/src/icons/close.svg";
import copy from "@vscode/codicons/src/icons/copy.svg";
import discard from "@vscode/codicons/src/icons/discard.svg";
import edit from "@vscode/codicons/src/icons/edit.svg";
import error from "@vscode/codicons/src/icons/error.svg";
import file from "@vscode/codicons/src/icons/file.svg";
import fileMedia from "@vscode/codicons/src/icons/file-media.svg";
import fold from "@vscode/codicons/src/icons/fold.svg";
import folder from "@vscode/codicons/src/icons/folder.svg";
import gitCompare from "@vscode/codicons/src/icons/git-compare.svg";
import globe from "@vscode/codicons/src/icons/globe.svg";
import history from "@vscode/codicons/src/icons/history.svg";
import info from "@vscode/codicons/src/icons/info.svg";
import lightbulb from "@vscode/codicons/src/icons/lightbulb.svg";
import listSelection from "@vscode/codicons/src/icons/list-selection.svg";
import loading from "@vscode/codicons/src/icons/loading.svg";
import pass from "@vscode/codicons/src/icons/pass.svg";
import question from "@vscode/codicons/src/icons/question.svg";
import refresh from "@vscode/codicons/src/icons/refresh.svg";
import rocket from "@vscode/codicons/src/icons/rocket.svg";
import search from "@vscode/codicons/src/icons/search.svg";
import shield from "@vscode/codicons/src/icons/shield.svg";
import symbol from "@vscode/codicons/src/icons/symbol-method.svg";
import terminal from "@vscode/codicons/src/icons/terminal.svg";
import tools from "@vscode/codicons/src/icons/tools.svg";
import trash from "@vscode/codicons/src/icons/trash.svg";
import warning from "@vscode/codicons/src/icons/warning.svg";
import restricted from "@vscode/codicons/src/icons/workspace-untrusted.svg";
import mark from "../../media/activity.svg";
import type { ChipKind } from "../messages";
import type { Mode, ToolKind } from "../wire";

const PICTURES = {
  add,
  arrowSwap,
  arrowUp,
  book,
  check,
  checklist,
  chevronDown,
  chevronLeft,
  chevronRight,
  chevronUp,
  circle,
  circleFilled,
  circleSlash,
  close,
  copy,
  discard,
  edit,
  error,
  file,
  fileMedia,
  fold,
  folder,
  gitCompare,
  globe,
  history,
  info,
  lightbulb,
  listSelection,
  loading,
  mark,
  pass,
  question,
  refresh,
  restricted,
  rocket,
  search,
  shield,
  symbol,
  terminal,
  tools,
  trash,
  warning,
};

export type IconName = keyof typeof PICTURES;

export const KIND_ICONS: Record<ToolKind, IconName> = {
  read: "book",
  edit: "edit",
  delete: "trash",
  move: "arrowSwap",
  search: "search",
  execute: "terminal",
  think: "lightbulb",
  fetch: "globe",
  other: "tools",
};

export const CHIP_ICONS: Record<ChipKind, IconName> = {
  selection: "listSelection",
  range: "listSelection",
  file: "file",
  folder: "folder",
  symbol: "symbol",
  diagnostics: "warning",
  terminal: "terminal",
  changes: "gitCompare",
  resource: "globe",
  image: "fileMedia",
};

export const MODE_ICONS: Record<Mode, IconName> = {
  plan: "checklist",
  "ask-all": "shield",
  ask: "shield",
  "accept-edits": "edit",
  auto: "rocket",
};

/** A picture beside words that say the same, so it is silent for a screen reader. */
export function Icon({ name, class: more = "" }: { name: IconName; class?: string }) {
  return (
    <span
      class={`icon ${name === "loading" ? "spin" : ""} ${more}`}
      aria-hidden="true"
      // The pictures are part of the bundle.
      dangerouslySetInnerHTML={{ __html: PICTURES[name] }}
    />
  );
}
