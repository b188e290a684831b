// Where the user writes: sends, steers, queues and stops, and shows what that will cost.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { State } from "../fold/state";
import { t } from "../l10n";
import type { ConfigResult, QuestionAsked } from "../wire";
import { Chips } from "./chips";
import { usePost } from "./context";
import { answered, type Drafts, drafted, keyOf, unsentOf } from "./drafts";
import { useExtras } from "./extras";
import { Field, type Waits, type WhenBusy } from "./field";
import { localized, modelName, modeName } from "./format";
import { Icon, MODE_ICONS } from "./icons";
import { useStopping } from "./stopping";
import { blocked } from "./needs";
import { Queue } from "./queue";
import type { Keep, Known } from "./store";
import { UnsentPrompts } from "./unsent";
import { Usage } from "./usage";

const SEND = {
  answer: { name: t("Answer"), title: t("Answer (Enter)") },
  steer: { name: t("Steer"), title: t("Steer (Enter)") },
  prompt: { name: t("Send"), title: t("Send (Enter)") },
} as const;

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
  const answering = useAnswering(session, draft);
  const input = (text: string) => {
    answering.note();
    write(text);
  };
  useEffect(() => {
    if (!compose.times) return;
    const area = box.current;
    if (area && compose.text) {
      // The field knows what was typed a moment ago; the cursor stays where the user writes.
      const between = area.value && !/\s$/.test(compose.text) ? BETWEEN : "";
      area.setRangeText(compose.text + between, 0, 0, "preserve");
      input(area.value);
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
    const questionId = answering.meant();
    if (whenBusy === "steer" && questionId !== null) {
      keep((now) => answered(now, session.sessionId, questionId, text));
      post({ type: "answer", questionId, text });
      return;
    }
    post({ type: "prompt", text, whenBusy, ...attaching.take() });
  };
  const { attaching, completion, field } = useExtras({ known, keep, box, onText: input });
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
  const sending = SEND[answering.isAnswer ? "answer" : isBusy ? "steer" : "prompt"];
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
        <Queue
          sessionId={session.sessionId}
          queue={session.queue}
          onGone={() => box.current?.focus()}
        />
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
            waits={answering.waits}
            onInput={input}
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
                title={sending.title}
                disabled={!draft.trim()}
                onClick={() => send("steer")}
              >
                <Icon name="arrowUp" />
                <span class="sr">{sending.name}</span>
              </button>
            )}
          </div>
        </div>
      </div>
    </>
  );
}

interface Answering {
  waits: Waits | null;
  /** Enter answers, if the draft stays as it is or is begun now. */
  isAnswer: boolean;
  /** Called before each change of the draft. */
  note: () => void;
  /** The id of the question that the draft was begun for and that still waits alone; else null. */
  meant: () => string | null;
}

/** Tell what waits for the user, and whether the draft is an answer to it. */
function useAnswering(session: State, draft: string): Answering {
  const { sessionId } = session;
  const question = onlyQuestion(session);
  const questionId = question?.questionId ?? null;
  /** What the draft was begun for: words from before a question do not answer it. */
  const begun = useRef({ sessionId, questionId });
  const meant = () => {
    const isHere = begun.current.sessionId === sessionId;
    return isHere && begun.current.questionId === questionId ? questionId : null;
  };
  return {
    waits: waits(session, question),
    isAnswer: questionId !== null && (!draft.trim() || meant() !== null),
    note: () => {
      if (!draft.trim()) begun.current = { sessionId, questionId };
    },
    meant,
  };
}

/** The question that words in the prompt answer; null: none waits, or not it alone. */
function onlyQuestion({ approvals, questions }: State): QuestionAsked | null {
  const [question, another] = questions;
  return question && !another && !approvals.length ? question : null;
}

function waits({ approvals, questions }: State, question: QuestionAsked | null): Waits | null {
  if (question) return question.steps.length ? "plan" : "question";
  return approvals.length || questions.length ? "other" : null;
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
          class="choice untrusted"
          title={t("The agent runs nothing that this folder brings. Click to trust it.")}
          onClick={() => post({ type: "run", command: "trustFolders" })}
        >
          <Icon name="restricted" />
          <span class="name">{t("Not trusted")}</span>
        </button>
      )}
    </>
  );
}
