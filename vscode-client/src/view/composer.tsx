// Where the user writes: sends, steers, queues and stops, and shows what that will cost.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { State } from "../fold/state";
import { t } from "../l10n";
import type { ConfigResult } from "../wire";
import { Chips } from "./chips";
import { usePost } from "./context";
import { type Drafts, drafted, keyOf, unsentOf } from "./drafts";
import { useExtras } from "./extras";
import { Field, type WhenBusy } from "./field";
import { localized, modelName, modeName } from "./format";
import { Icon, MODE_ICONS } from "./icons";
import { useStopping } from "./stopping";
import { blocked } from "./needs";
import { Queue } from "./queue";
import type { Keep, Known } from "./store";
import { UnsentPrompts } from "./unsent";
import { Usage } from "./usage";

/** A blank line, between two texts that are for the same prompt. */
const BETWEEN = "\n\n";

interface Props {
  known: Known;
  keep: Keep;
}

export function Composer({ known, keep }: Props) {
  const { session, config, drafts, compose, isLoaded } = known;
  const post = usePost();
  const box = useRef<HTMLTextAreaElement>(null);
  const [draft, write] = useDraft(box, drafts, isLoaded ? keyOf(session) : drafts.shown, {
    sessionId: session.sessionId,
    keep,
  });
  const isBusy = session.turn !== null;
  useEffect(() => {
    if (!compose.times) return;
    const area = box.current;
    if (area && compose.text) {
      // The field knows what was typed a moment ago; the cursor stays where the user writes.
      const between = area.value && !/\s$/.test(compose.text) ? BETWEEN : "";
      area.setRangeText(compose.text + between, 0, 0, "preserve");
      write(area.value);
    }
    area?.focus();
  }, [compose]);
  const send = (whenBusy: WhenBusy) => {
    // The field knows what was typed a moment ago, when it has not been drawn yet.
    const area = box.current;
    const text = area?.value.trim();
    if (!area || !text) return;
    area.value = "";
    write("");
    completion.close();
    post({ type: "prompt", text, whenBusy, ...attaching.take() });
  };
  const { attaching, completion, field } = useExtras({ known, keep, box, onText: write });
  const stop = () => {
    post({ type: "stop" });
    // The button that was pressed goes away.
    box.current?.focus();
  };
  const stopping = useStopping(
    session.turn && !session.turn.isStopping ? session.turn.id : null,
    () => !box.current?.value.trim(),
    stop,
  );
  return (
    <>
      <UnsentPrompts
        rows={unsentOf(drafts, session.sessionId)}
        isBusy={isBusy}
        keep={keep}
        here={attaching.choice}
        onGone={() => box.current?.focus()}
      />
      <div class="composer" onFocusOut={stopping.calm}>
        <Queue queue={session.queue} onGone={() => box.current?.focus()} />
        <p class="hint" role="status">
          {stopping.hint}
        </p>
        <div class={attaching.isOver ? "box dropping" : "box"} {...attaching.drops}>
          {completion.list}
          <Chips {...attaching} />
          <Field
            box={box}
            draft={draft}
            isBusy={isBusy}
            blocked={blocked(known)}
            onInput={write}
            onSend={send}
            onKey={stopping.onKey}
            extra={field}
          />
          <div class="bar">
            <Choices session={session} config={config} />
            <span class="space" />
            <Usage usage={session.usage} context={known.context} />
            {session.turn && (
              <StopButton
                isStopping={session.turn.isStopping}
                onStop={stop}
                onKey={stopping.onKey}
              />
            )}
            {(!isBusy || draft.trim()) && (
              <button
                type="button"
                class="round send"
                title={isBusy ? t("Steer (Enter)") : t("Send (Enter)")}
                disabled={!draft.trim()}
                onClick={() => send("steer")}
              >
                <Icon name="arrowUp" />
                <span class="sr">{isBusy ? t("Steer") : t("Send")}</span>
              </button>
            )}
          </div>
        </div>
      </div>
    </>
  );
}

interface Place {
  sessionId: string;
  keep: Keep;
}

/** The prompt's text, kept under a key for each session, and how to change it. */
function useDraft(
  box: RefObject<HTMLTextAreaElement | null>,
  drafts: Drafts,
  key: string,
  { sessionId, keep }: Place,
): [string, (text: string) => void] {
  const [draft, setDraft] = useState(drafts.prompts[key] ?? "");
  const shown = useRef({ key, sessionId, loaded: draft });
  useLayoutEffect(() => {
    const before = shown.current;
    const typed = box.current?.value ?? "";
    shown.current = { ...before, key, sessionId };
    if (before.key === key) return;
    const isSame = before.sessionId === sessionId;
    // What was typed while the session was not known yet is for the one that comes.
    const isEarly = !before.sessionId && typed !== before.loaded;
    const here = drafts.prompts[key] ?? "";
    const isAnother = !isSame && !isEarly;
    const text = isAnother ? here : [typed, here].filter(Boolean).join(BETWEEN);
    setDraft(text);
    // Words to put before it may come in the same frame.
    if (box.current) box.current.value = text;
    if (isAnother) return;
    keep((now) => drafted(drafted(now, before.key, ""), key, text), false);
  }, [key, sessionId]);
  const write = (text: string) => {
    setDraft(text);
    keep((now) => drafted(now, key, text), false);
  };
  return [draft, write];
}

interface StopProps {
  isStopping: boolean;
  onStop: () => void;
  onKey: (event: KeyboardEvent) => void;
}

function StopButton({ isStopping, onStop, onKey }: StopProps) {
  return (
    <button
      type="button"
      class="round stop"
      title={t("Stop (Escape twice in the empty prompt)")}
      aria-label={t("Stop")}
      disabled={isStopping}
      onClick={onStop}
      onKeyDown={(event) => {
        if (!event.defaultPrevented) onKey(event);
      }}
    >
      <span aria-hidden="true" />
    </button>
  );
}

/** What holds for the session: each opens the editor's own list of alternatives. */
function Choices({ session, config }: { session: State; config: ConfigResult | null }) {
  const post = usePost();
  const mode = config?.modes.find((one) => one.id === session.mode);
  const isRestricted = config?.roots.some((root) => !root.isTrusted);
  return (
    <>
      <button
        type="button"
        class="choice"
        title={mode?.description ?? t("How much the agent may do without asking")}
        onClick={() => post({ type: "run", command: "pickMode" })}
      >
        <Icon name={MODE_ICONS[session.mode]} />
        <span class="sr">{t("Mode: ")}</span>
        <span class="name">{mode ? localized(mode.name) : modeName(session.mode)}</span>
      </button>
      <button
        type="button"
        class="choice model"
        title={session.model || t("No model is chosen")}
        onClick={() => post({ type: "run", command: "pickModel" })}
      >
        <span class="sr">{t("Model: ")}</span>
        <span class="name">
          {[modelName(session.model), session.effort].filter(Boolean).join(" · ")}
        </span>
      </button>
      {isRestricted && (
        <button
          type="button"
          class="choice"
          title={t("The agent runs nothing that this folder brings. Click to trust it.")}
          onClick={() => post({ type: "run", command: "trustFolders" })}
        >
          <Icon name="restricted" />
          <span class="sr">{t("Not trusted")}</span>
        </button>
      )}
    </>
  );
}
