// Going back to before a prompt, to change it or to try it again: what that comes to, and the user's yes.
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Item } from "../fold/state";
import { plural, t } from "../l10n";
import type { Restore } from "../messages";
import type { ReviewTurn } from "../wire";
import { usePost } from "./context";
import { firstLine } from "./format";
import { Icon, type IconName } from "./icons";
import { Fate, RestoreContext } from "./restore";
import type { Known } from "./store";

type Then = "edit" | "retry";

/** The way back to before a turn, and what is said about it. */
export interface Rewinding {
  /** The prompt began a turn of the session that is shown. */
  isOffered: boolean;
  /** What is to follow; null: nobody has asked. */
  then: Then | null;
  isBusy: boolean;
  /** It was sent, and nothing has gone wrong with it. */
  isSent: boolean;
  /** The first turn from there on that changed files; null: none did. */
  filesTurnId: string | null;
  /** What bringing files back would come to; null: not known yet. */
  files: Restore | null;
  /** Why it was not done; empty: nothing went wrong. */
  problem: string;
  ask: (then: Then) => void;
  stop: () => void;
  go: (withFiles: boolean, isOtherModel: boolean) => void;
  close: () => void;
}

export function useRewinding(turnId: string | null): Rewinding {
  const post = usePost();
  const { sessionId, items, turns, isBusy, restores, notRewound } = useContext(RestoreContext);
  const [then, setThen] = useState<Then | null>(null);
  const filesTurnId = then ? firstChanged(sessionId, turnId, items, turns) : null;
  const told = filesTurnId === null ? undefined : restores[filesTurnId];
  /** What had been told before somebody asked. */
  const [old, setOld] = useState(told);
  const [before, setBefore] = useState(notRewound);
  /** What had gone wrong when it was sent; a failure since then lets it be sent again. */
  const [sent, setSent] = useState<{ before: typeof notRewound } | null>(null);
  const isSent = sent !== null && sent.before === notRewound;
  const isOpen = then !== null;
  useEffect(() => {
    if (!isOpen || isBusy || filesTurnId === null) return;
    setOld(restores[filesTurnId]);
    const moment = { turnId: filesTurnId, toolCallId: null };
    post({ type: "restore", sessionId, moment, isTrial: true });
  }, [isOpen, isBusy, filesTurnId]);
  const failure = notRewound === before ? null : notRewound;
  return {
    isOffered: sessionId !== "" && turnId !== null,
    then,
    isBusy,
    isSent,
    filesTurnId,
    files: told && told !== old ? told : null,
    problem: failure?.turnId === turnId ? failure.problem : "",
    ask: (next) => {
      setBefore(notRewound);
      setSent(null);
      setThen(next);
    },
    stop: () => post({ type: "stop" }),
    go: (withFiles, isOtherModel) => {
      if (!then || turnId === null || isSent) return;
      setBefore(notRewound);
      setSent({ before: notRewound });
      post({
        type: "rewind",
        sessionId,
        turnId,
        then,
        filesTurnId: withFiles ? filesTurnId : null,
        isOtherModel,
      });
    },
    close: () => setThen(null),
  };
}

/** The first turn, from this one on, that changed files. */
function firstChanged(
  sessionId: string,
  turnId: string | null,
  items: readonly Item[],
  turns: readonly ReviewTurn[],
): string | null {
  const start = items.findIndex((one) => one.kind === "user" && one.turnId === turnId);
  const later = items.slice(start).flatMap((one) => (one.kind === "user" ? [one.turnId] : []));
  const changed = (id: string | null) =>
    turns.some(
      (one) => one.sessionId === sessionId && one.turnId === id && one.toolCallIds.length > 0,
    );
  return later.find(changed) ?? null;
}

const TOOLS: Record<Then, { icon: IconName; title: string; name: (words: string) => string }> = {
  edit: {
    icon: "edit",
    title: t("Edit this prompt and send it again"),
    name: (words) => t("Edit the prompt “{0}”", words),
  },
  retry: {
    icon: "refresh",
    title: t("Try this prompt again"),
    name: (words) => t("Try the prompt “{0}” again", words),
  },
};

/** The two buttons; `of` is the prompt, for those who hear them without their surroundings. */
export function RewindButtons({ rewinding, of }: { rewinding: Rewinding; of: string }) {
  const { isOffered, then, ask, close } = rewinding;
  const buttons = useRef<HTMLSpanElement>(null);
  const was = useRef(then);
  useEffect(() => {
    // What was closed gives the focus back.
    if (was.current && !then) {
      buttons.current?.querySelector<HTMLElement>(`.${was.current}`)?.focus();
    }
    was.current = then;
  }, [then]);
  if (!isOffered) return null;
  return (
    <span ref={buttons} class="rewind">
      {(["edit", "retry"] as const).map((one) => (
        <button
          key={one}
          type="button"
          class={`tool ${one}`}
          aria-expanded={then === one}
          title={TOOLS[one].title}
          onClick={then === one ? close : () => ask(one)}
        >
          <Icon name={TOOLS[one].icon} />
          <span class="sr">{TOOLS[one].name(firstLine(of))}</span>
        </button>
      ))}
    </span>
  );
}

/** What going back comes to; nothing until somebody asks. */
export function RewindCard({ rewinding }: { rewinding: Rewinding }) {
  return rewinding.then ? <Card rewinding={rewinding} then={rewinding.then} /> : null;
}

function Card({ rewinding, then }: { rewinding: Rewinding; then: Then }) {
  const { isBusy, problem, stop, close } = rewinding;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.scrollIntoView({ block: "nearest" });
  }, [then]);
  useEffect(() => {
    // Who writes elsewhere keeps the focus.
    if (box.current?.contains(document.activeElement)) box.current.focus();
  }, [isBusy]);
  const heading = then === "edit" ? t("Edit this prompt") : t("Try this prompt again");
  return (
    // It has the focus when it opens, and Escape leaves it from any of its buttons.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      ref={box}
      class="card restoring rewinding"
      role="group"
      tabIndex={-1}
      aria-label={heading}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        close();
      }}
    >
      <h2>{heading}</h2>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {isBusy ? (
        <>
          <p class="dim">
            {t(
              "The agent still works. Stop it first: what it did stays in this session, and its files can go back.",
            )}
          </p>
          <div class="buttons">
            <button type="button" class="primary" onClick={stop}>
              {t("Stop")}
            </button>
            <Cancel onClick={close} />
          </div>
        </>
      ) : (
        <Choice rewinding={rewinding} then={then} />
      )}
    </section>
  );
}

function Cancel({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" class="secondary" onClick={onClick}>
      {t("Cancel")}
    </button>
  );
}

/** What goes back, and the yes to it. */
function Choice({ rewinding, then }: { rewinding: Rewinding; then: Then }) {
  const { filesTurnId, files, isSent, go, close } = rewinding;
  const [wantsFiles, setWantsFiles] = useState(true);
  /** Nobody says yes to what they cannot see yet. */
  const isLooking = filesTurnId !== null && files === null;
  const isOff = isLooking || isSent;
  const goesBack = files?.is === "foreseen" && files.files.some((one) => one.status === "done");
  const begin = (isOtherModel: boolean) => {
    if (!isOff) go(wantsFiles && goesBack, isOtherModel);
  };
  return (
    <>
      <p class="dim">
        {t(
          "The conversation goes on from before it, as a new session. This one stays in the list of sessions, whole.",
        )}
      </p>
      {isLooking && <p class="dim">{t("Looking at the files")}</p>}
      {files && <Files files={files} isWanted={wantsFiles} onWanted={setWantsFiles} />}
      <div class="buttons">
        <button type="button" class="primary" aria-disabled={isOff} onClick={() => begin(false)}>
          {then === "edit" ? t("Edit") : t("Try Again")}
        </button>
        {then === "retry" && (
          <button type="button" class="secondary" aria-disabled={isOff} onClick={() => begin(true)}>
            {t("With Another Model…")}
          </button>
        )}
        <Cancel onClick={close} />
      </div>
    </>
  );
}

interface FilesProps {
  files: Restore;
  isWanted: boolean;
  onWanted: (isWanted: boolean) => void;
}

/** What would become of each file. */
function Files({ files, isWanted, onWanted }: FilesProps) {
  if (files.is === "failed")
    return <p class="problem">{t("No file goes back: {0}", files.problem)}</p>;
  const goes = files.files.filter((one) => one.status === "done");
  const stays = files.files.filter((one) => one.status !== "done");
  return (
    <>
      {goes.length > 0 && (
        <label>
          <input
            type="checkbox"
            checked={isWanted}
            onChange={(event) => onWanted(event.currentTarget.checked)}
          />
          <span>
            {plural(
              goes.length,
              "Bring {0} file back too. What you typed stays.",
              "Bring {0} files back too. What you typed stays.",
            )}
          </span>
        </label>
      )}
      {files.files.length > 0 && (
        <ul>
          {[...goes, ...stays].map((one) => (
            <Fate
              key={one.location.path}
              file={isWanted ? one : { ...one, status: "nothing", reason: "" }}
              isDone={false}
            />
          ))}
        </ul>
      )}
    </>
  );
}

interface OriginProps {
  /** The session that was left. */
  origin: NonNullable<Known["origin"]>;
  onClose: () => void;
}

/** Where the session that is shown comes from. */
export function Origin({ origin: { sessionId, title }, onClose }: OriginProps) {
  const post = usePost();
  return (
    <div class="origin">
      <Icon name="history" />
      <span class="what" role="status" title={t("“{0}” is as it was", title)}>
        {t("From “{0}”", title)}
      </span>
      <button
        type="button"
        class="secondary"
        onClick={() => post({ type: "openSession", sessionId })}
      >
        {t("Open")}
        <span class="sr"> “{title}”</span>
      </button>
      <button
        type="button"
        class="tool"
        aria-label={t("Hide where this comes from")}
        onClick={onClose}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
