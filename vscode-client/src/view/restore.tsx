// Bringing files back to before a change or a turn: what it would come to, the user's yes, and what
// came of it.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Item, Moment } from "../fold/state";
import { plural, t } from "../l10n";
import { momentId, type Restore } from "../messages";
import type { ReviewFileResult, ReviewTurn } from "../wire";
import { usePost } from "./context";
import { Icon } from "./icons";
import type { NotRewound } from "./store";

/** What there is to go back to. */
export interface Restorable {
  /** Empty: of a transcript in which nothing goes back. */
  sessionId: string;
  items: readonly Item[];
  turns: readonly ReviewTurn[];
  /** A turn runs: nothing is restored now. */
  isBusy: boolean;
  restores: Readonly<Record<string, Restore>>;
  notRewound: NotRewound | null;
}

export const NOWHERE: Restorable = {
  sessionId: "",
  items: [],
  turns: [],
  isBusy: false,
  restores: {},
  notRewound: null,
};

export const RestoreContext = createContext(NOWHERE);

/** One moment's button, and what is said about it. */
export interface Restoring {
  /** Nothing can be restored to it, or not now. */
  isOffered: boolean;
  isOpen: boolean;
  moment: Moment;
  /** What is known since the user asked; null: nothing yet. */
  restore: Restore | null;
  ask: () => void;
  confirm: () => void;
  close: () => void;
}

/** The way to bring files back to a moment; null where there is none. */
export function useRestoring(moment: Moment): Restoring {
  const post = usePost();
  const { sessionId, turns, isBusy, restores } = useContext(RestoreContext);
  const [isOpen, setOpen] = useState(false);
  const told = restores[momentId(moment)];
  /** What had been told before the user asked. */
  const [old, setOld] = useState(told);
  const send = (isTrial: boolean) => {
    setOld(told);
    setOpen(true);
    post({ type: "restore", sessionId, moment, isTrial });
  };
  const { turnId, toolCallId } = moment;
  const turn = turns.find((one) => one.turnId === turnId);
  return {
    isOffered: !isBusy && isIn(turn, toolCallId),
    isOpen,
    moment,
    restore: told && told !== old ? told : null,
    ask: () => send(true),
    confirm: () => send(false),
    close: () => setOpen(false),
  };
}

function isIn(turn: ReviewTurn | undefined, toolCallId: string | null): boolean {
  if (!turn) return false;
  return toolCallId === null ? turn.toolCallIds.length > 0 : turn.toolCallIds.includes(toolCallId);
}

/** The button; `of` says before what, for those who hear it without its surroundings. */
export function RestoreButton({ restoring, of }: { restoring: Restoring; of: string }) {
  const { isOffered, isOpen, moment, ask, close } = restoring;
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    // What was closed gives the focus back.
    if (wasOpen.current && !isOpen) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (!isOffered) return null;
  return (
    <button
      ref={button}
      type="button"
      class="tool restore"
      aria-expanded={isOpen}
      title={
        isTurn(moment)
          ? t("Restore files to before this turn")
          : t("Restore files to before this change")
      }
      onClick={isOpen ? close : ask}
    >
      <Icon name="history" />
      <span class="sr">{t("Restore files to before {0}", of)}</span>
    </button>
  );
}

/** What a restore would come to or did; nothing until somebody asks. */
export function RestoreAnswer(props: { restoring: Restoring; isRestored: boolean }) {
  const { restoring, isRestored } = props;
  if (restoring.isOpen && restoring.restore) {
    return <Answer restoring={restoring} restore={restoring.restore} />;
  }
  if (!isRestored) return null;
  return (
    <p class="restored">
      {isTurn(restoring.moment)
        ? t("Files were restored to before this turn")
        : t("Files were restored to before this change")}
    </p>
  );
}

function Answer({ restoring, restore }: { restoring: Restoring; restore: Restore }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.scrollIntoView({ block: "nearest" });
  }, [restore]);
  const { moment, confirm, close } = restoring;
  const files = restore.is === "failed" ? [] : restore.files;
  const goes = files.filter((one) => one.status === "done");
  const stays = files.filter((one) => one.status !== "done");
  const isAsking = restore.is === "foreseen" && goes.length > 0;
  return (
    <section
      ref={box}
      class={`card restoring ${restore.is}`}
      role="group"
      tabIndex={-1}
      aria-label={heading(restore, goes, moment)}
    >
      <h2>{heading(restore, goes, moment)}</h2>
      {restore.is === "failed" && <p class="problem">{restore.problem}</p>}
      {files.length > 0 && (
        <ul>
          {[...goes, ...stays].map((one) => (
            <Fate key={one.location.path} file={one} isDone={restore.is === "done"} />
          ))}
        </ul>
      )}
      {isAsking && <p class="dim">{consequences(moment)}</p>}
      <div class="buttons">
        {isAsking && (
          <button type="button" class="primary" onClick={confirm}>
            {stays.length
              ? plural(goes.length, "Restore the Other", "Restore the Other {0}")
              : plural(goes.length, "Restore {0} file", "Restore {0} files")}
          </button>
        )}
        <button type="button" class="secondary" onClick={close}>
          {isAsking ? t("Cancel") : t("Close")}
        </button>
      </div>
    </section>
  );
}

/** What becomes of a file, or became. */
export function Fate({ file, isDone }: { file: ReviewFileResult; isDone: boolean }) {
  const { location, status, edit, reason } = file;
  const { path } = location;
  const isLeft = status !== "done";
  const icon = isLeft ? "warning" : isDone ? "check" : "history";
  const fate = edit ? FATES[edit][isDone ? 1 : 0] : "";
  return (
    <li class={isLeft ? "left" : ""}>
      <Icon name={icon} class={isLeft ? "warning" : ""} />
      <span class="words">
        <span class="path">{path}</span>{" "}
        <span class="dim">{isLeft ? left(reason, isDone) : fate}</span>
        <BothVersions file={file} />
      </span>
    </li>
  );
}

function left(reason: string, isDone: boolean): string {
  const words = isDone ? t("was left as it is") : t("stays as it is");
  return reason ? `${words}: ${reason}` : words;
}

/** The way to see what a file is beside what a decision would have made of it. */
export function BothVersions({ file: { location, conflict } }: { file: ReviewFileResult }) {
  const post = usePost();
  if (!conflict) return null;
  const { path } = location;
  const uri = conflict.now === null ? null : location.uri;
  return (
    <button
      type="button"
      class="place"
      onClick={() => post({ type: "compare", path, uri, wanted: conflict.wanted })}
    >
      {t("Show both versions")}
    </button>
  );
}

/** What a restore does to a file, before and after. */
const FATES: Record<NonNullable<ReviewFileResult["edit"]>, [string, string]> = {
  change: [t("goes back"), t("went back")],
  create: [t("comes back"), t("came back")],
  delete: [t("is deleted"), t("was deleted")],
  move: [t("moves back"), t("moved back")],
};

function heading(restore: Restore, goes: readonly ReviewFileResult[], moment: Moment): string {
  if (restore.is === "failed") return t("Nothing was restored");
  const count = goes.length;
  if (isTurn(moment)) {
    if (!restore.files.length) return t("All files are as they were before this turn");
    if (!count) return t("No file can be restored to before this turn");
    return restore.is === "foreseen"
      ? plural(
          count,
          "Restore {0} file to before this turn?",
          "Restore {0} files to before this turn?",
        )
      : plural(
          count,
          "{0} file restored to before this turn",
          "{0} files restored to before this turn",
        );
  }
  if (!restore.files.length) return t("All files are as they were before this change");
  if (!count) return t("No file can be restored to before this change");
  return restore.is === "foreseen"
    ? plural(
        count,
        "Restore {0} file to before this change?",
        "Restore {0} files to before this change?",
      )
    : plural(
        count,
        "{0} file restored to before this change",
        "{0} files restored to before this change",
      );
}

function consequences(moment: Moment): string {
  return isTurn(moment)
    ? t("This takes back what the agent changed in this turn and after it. What you typed stays.")
    : t(
        "This takes back the change and all that the agent changed after it. What you typed stays. This restore cannot be redone.",
      );
}

/** Says whether it is before a whole turn, and not before one change of it. */
function isTurn({ toolCallId }: Moment): boolean {
  return toolCallId === null;
}
