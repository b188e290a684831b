// The text area of the prompt, and what its keys do.
import type { RefObject, TextareaHTMLAttributes } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { Queued } from "../fold/state";
import { t } from "../l10n";

const MAX_HEIGHT_PX = 240;

export type WhenBusy = Queued["whenBusy"];

/** What waits for the user: a question or a plan that words in the prompt answer, or anything else. */
export type Waits = "question" | "plan" | "other";

const WAITS: Record<Waits, { label: string; placeholder: string }> = {
  question: { label: t("Answer the agent"), placeholder: t("Answer, or Alt+Enter: later") },
  plan: { label: t("What to plan instead"), placeholder: t("What instead? Alt+Enter: later") },
  other: { label: t("Steer the agent"), placeholder: t("Answer above first; words here wait") },
};

interface FieldProps {
  box: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  isBusy: boolean;
  /** What to do before a prompt makes sense; empty when nothing is missing. */
  blocked: string;
  waits: Waits | null;
  onInput: (text: string) => void;
  onSend: (whenBusy: WhenBusy) => void;
  /** Every key but those of a composed character and of a chord. */
  onKey: (event: KeyboardEvent) => void;
  extra: FieldExtra;
}

/** What completion, history and attachments add to the field. */
export interface FieldExtra {
  attributes: TextareaHTMLAttributes;
  /** Takes a key, and says whether it was theirs. */
  onKey: (event: KeyboardEvent) => boolean;
  /** The text or the cursor has changed. */
  onLook: () => void;
  onLeave: () => void;
  onPaste: (event: ClipboardEvent) => void;
}

/** The text area of the prompt, as high as its text up to a limit. */
export function Field(props: FieldProps) {
  const { box, draft, isBusy, blocked, waits, onInput, onSend, onKey, extra } = props;
  const waiting = waits && WAITS[waits];
  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, MAX_HEIGHT_PX)}px`;
  }, [draft]);
  return (
    <textarea
      ref={box}
      rows={1}
      value={draft}
      aria-label={waiting?.label ?? (isBusy ? t("Steer the agent") : t("Ask the agent"))}
      placeholder={
        blocked ||
        (waiting?.placeholder ??
          (isBusy ? t("Steer, or Alt+Enter: later") : t("Ask, or say what to change")))
      }
      {...extra.attributes}
      onInput={(event) => {
        onInput(event.currentTarget.value);
        extra.onLook();
      }}
      onClick={extra.onLook}
      onBlur={extra.onLeave}
      onPaste={extra.onPaste}
      onKeyDown={(event) => {
        if (event.isComposing || event.defaultPrevented || extra.onKey(event)) return;
        onKey(event);
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        onSend(event.altKey ? "follow_up" : "steer");
      }}
    />
  );
}
