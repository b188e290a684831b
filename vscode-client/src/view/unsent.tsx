// The prompts that were not sent: each can be changed, moved, sent and dropped.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural, t } from "../l10n";
import type { HereChoice } from "../messages";
import { usePost } from "./context";
import { moved, reworded, taken, type Unsent } from "./drafts";
import type { WhenBusy } from "./field";
import { Icon, type IconName } from "./icons";
import type { Keep } from "./store";

const MAX_ROWS = 5;

interface Props {
  rows: readonly Unsent[];
  isBusy: boolean;
  keep: Keep;
  /** What of where the user is goes along. */
  here: HereChoice;
  /** A row is gone: the cursor goes back to the prompt. */
  onGone: () => void;
}

export function UnsentPrompts({ rows, isBusy, keep, here, onGone }: Props) {
  const post = usePost();
  const list = useRef<HTMLOListElement>(null);
  /** The control that was used to move a row, to keep the focus on it. */
  const mover = useRef("");
  useLayoutEffect(() => {
    if (!mover.current) return;
    const control = list.current?.querySelector<HTMLElement>(mover.current);
    mover.current = "";
    control?.focus();
  }, [rows]);
  const send = (row: Unsent, text: string, whenBusy: WhenBusy) => {
    if (!text.trim()) return;
    keep((drafts) => taken(drafts, row.id));
    const { chips } = row;
    post({ type: "prompt", text: text.trim(), whenBusy, ...(chips && { chips }), here });
    onGone();
  };
  const drop = (row: Unsent) => {
    keep((drafts) => taken(drafts, row.id));
    onGone();
  };
  const move = (row: Unsent, by: -1 | 1, control: string) => {
    const other = rows[rows.indexOf(row) + by];
    if (!other) return;
    mover.current = `[data-row="${row.id}"] ${control}`;
    keep((drafts) => moved(drafts, row.id, other.id));
  };
  const words = rows.length
    ? plural(rows.length, "{0} prompt not sent", "{0} prompts not sent")
    : "";
  return (
    <>
      <p class="sr" role="status">
        {words}
      </p>
      {rows.length > 0 && (
        <section class="unsent" aria-label={words}>
          <p class="dim" aria-hidden="true">
            {words}
          </p>
          <ol ref={list}>
            {rows.map((row, index) => (
              <Row
                key={row.id}
                row={row}
                number={index + 1}
                isLast={index === rows.length - 1}
                isBusy={isBusy}
                onText={(text) => keep((drafts) => reworded(drafts, row.id, text), false)}
                onSend={(text, whenBusy) => send(row, text, whenBusy)}
                onMove={(by, control) => move(row, by, control)}
                onDrop={() => drop(row)}
              />
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

interface RowProps {
  row: Unsent;
  number: number;
  isLast: boolean;
  isBusy: boolean;
  onText: (text: string) => void;
  onSend: (text: string, whenBusy: WhenBusy) => void;
  /** `control` selects within the row what was used. */
  onMove: (by: -1 | 1, control: string) => void;
  onDrop: () => void;
}

function Row({ row, number, isLast, isBusy, onText, onSend, onMove, onDrop }: RowProps) {
  const [text, setText] = useState(row.text);
  const problemId = `unsent-${row.id}`;
  return (
    <li data-row={row.id}>
      <textarea
        rows={Math.min(MAX_ROWS, text.split("\n").length)}
        value={text}
        aria-label={t("Prompt {0} that was not sent", number)}
        aria-describedby={problemId}
        onInput={({ currentTarget: { value } }) => {
          setText(value);
          onText(value);
        }}
        onKeyDown={(event) => {
          if (event.isComposing || event.defaultPrevented) return;
          const by = event.altKey ? ({ ArrowUp: -1, ArrowDown: 1 } as const)[event.key] : undefined;
          if (by) onMove(by, "textarea");
          const isSend = event.key === "Enter" && !event.shiftKey;
          if (by || isSend) event.preventDefault();
          if (isSend) onSend(event.currentTarget.value, event.altKey ? "follow_up" : "steer");
        }}
      />
      <div class="row-tools">
        <span class="why-unsent" id={problemId}>
          {row.problem}
        </span>
        <Tool
          icon="chevronUp"
          name={t("Move prompt {0} up", number)}
          class="up"
          isOff={number === 1}
          onClick={() => onMove(-1, ".up")}
        />
        <Tool
          icon="chevronDown"
          name={t("Move prompt {0} down", number)}
          class="down"
          isOff={isLast}
          onClick={() => onMove(1, ".down")}
        />
        <Tool icon="trash" name={t("Drop prompt {0}", number)} class="drop" onClick={onDrop} />
        <button
          type="button"
          class="secondary"
          title={isBusy ? t("Send with the next step; with Alt afterwards") : t("Send")}
          disabled={!text.trim()}
          onClick={(event) => onSend(text, event.altKey ? "follow_up" : "steer")}
        >
          {t("Send")}
          <span class="sr">{t(" prompt {0}", number)}</span>
        </button>
      </div>
    </li>
  );
}

interface ToolProps {
  icon: IconName;
  name: string;
  class: string;
  isOff?: boolean;
  onClick: () => void;
}

export function Tool({ icon, name, class: more, isOff = false, onClick }: ToolProps) {
  return (
    <button
      type="button"
      class={`tool ${more}`}
      title={name}
      aria-label={name}
      // It stays reachable, so that a row can be moved on by the same key.
      aria-disabled={isOff}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
