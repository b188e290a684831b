// The prompts that wait in the server: each can be changed, moved, sent now and dropped.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Queued } from "../fold/state";
import { t } from "../l10n";
import type { QueuedChange } from "../messages";
import { useKeptText, usePost } from "./context";
import { answerName } from "./drafts";
import { Tool } from "./unsent";

const MAX_ROWS = 5;

interface Props {
  sessionId: string;
  queue: readonly Queued[];
  /** A row is gone: the cursor goes back to the prompt. */
  onGone: () => void;
}

export function Queue({ sessionId, queue, onGone }: Props) {
  const list = useRef<HTMLUListElement>(null);
  /** The control that was used to move a row, to keep the focus on it. */
  const mover = useRef("");
  useEffect(() => {
    if (!mover.current) return;
    const control = list.current?.querySelector<HTMLElement>(mover.current);
    mover.current = "";
    control?.focus();
  }, [queue]);
  if (!queue.length) return null;
  return (
    <ul ref={list} class="queue" aria-label={t("Waiting to be said")}>
      {queue.map((row, index) => (
        <Row
          key={row.id || index}
          row={row}
          draftName={answerName(sessionId, row.id, "queued")}
          number={index + 1}
          previous={queue[index - 1] ?? null}
          next={queue[index + 1] ? (queue[index + 2]?.id ?? "") : null}
          onMove={(control) => {
            mover.current = `[data-prompt="${row.id}"] ${control}`;
          }}
          onGone={onGone}
        />
      ))}
    </ul>
  );
}

interface RowProps {
  row: Queued;
  /** Where other words are kept that the user has begun to give it. */
  draftName: string;
  number: number;
  /** Null: it is the first. */
  previous: Queued | null;
  /** What it goes before when it moves down; null: it is the last. */
  next: string | null;
  /** `control` selects within the row what was used. */
  onMove: (control: string) => void;
  onGone: () => void;
}

function Row({ row, draftName, number, previous, next, onMove, onGone }: RowProps) {
  const post = usePost();
  const [draft, write] = useKeptText(draftName);
  const [isOpen, setOpen] = useState(draft !== "");
  const { id: promptId, text, whenBusy } = row;
  const isSteer = whenBusy === "steer";
  const change = (what: Omit<QueuedChange, "promptId">) =>
    post({ type: "changeQueued", change: { promptId, ...what } });
  const move = (before: string | null, control: string) => {
    if (before === null) return;
    onMove(control);
    change({ before });
  };
  if (isOpen) {
    const close = () => {
      setOpen(false);
      write("");
      onGone();
    };
    const save = (field: string) => {
      const words = field.trim();
      if (words && words !== text) change({ text: words });
      close();
    };
    return (
      <Edited
        number={number}
        draft={draft || text}
        // No text is no draft, so an empty field is kept as a blank.
        onText={(words) => write(words === text ? "" : words || " ")}
        onSave={save}
        onLeave={close}
      />
    );
  }
  return (
    <li data-prompt={promptId}>
      <span class="dim">{isSteer ? t("with the next step") : t("afterwards")}</span>
      <span class="what" title={text}>
        {text}
      </span>
      {promptId && (
        <span class="row-tools">
          <Tool
            icon="edit"
            name={t("Edit waiting prompt {0}", number)}
            class="edit"
            onClick={() => setOpen(true)}
          />
          <Tool
            icon="chevronUp"
            name={t("Move waiting prompt {0} up", number)}
            class="up"
            isOff={!previous}
            onClick={() => move(previous && previous.id, ".up")}
          />
          <Tool
            icon="chevronDown"
            name={t("Move waiting prompt {0} down", number)}
            class="down"
            isOff={next === null}
            onClick={() => move(next, ".down")}
          />
          {!isSteer && (
            <Tool
              icon="arrowUp"
              name={t("Send waiting prompt {0} with the next step", number)}
              class="now"
              onClick={() => change({ whenBusy: "steer" })}
            />
          )}
          <Tool
            icon="trash"
            name={t("Drop waiting prompt {0}", number)}
            class="drop"
            onClick={() => {
              change({ isDropped: true });
              onGone();
            }}
          />
        </span>
      )}
    </li>
  );
}

interface EditedProps {
  number: number;
  draft: string;
  onText: (text: string) => void;
  onSave: (text: string) => void;
  onLeave: () => void;
}

function Edited({ number, draft, onText, onSave, onLeave }: EditedProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <li class="editing">
      <textarea
        ref={area}
        rows={Math.min(MAX_ROWS, draft.split("\n").length)}
        value={draft}
        aria-label={t("Waiting prompt {0}", number)}
        onInput={({ currentTarget: { value } }) => onText(value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          const isSave = event.key === "Enter" && !event.shiftKey;
          if (!isSave && event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          // The newest words may not be drawn yet.
          if (isSave) onSave(event.currentTarget.value);
          else onLeave();
        }}
      />
      <div class="row-tools">
        <button type="button" class="secondary" onClick={onLeave}>
          {t("Cancel")}
        </button>
        <button type="button" disabled={!draft.trim()} onClick={() => onSave(draft)}>
          {t("Save")}
        </button>
      </div>
    </li>
  );
}
