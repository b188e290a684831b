// Asks the user what only the user can answer: a question, or which steps of a plan may run.
import { useEffect, useId, useState } from "preact/hooks";
import { words as planWords } from "../fold/plans";
import { plural, t } from "../l10n";
import type { PlanStep, QuestionAsked } from "../wire";
import { Markdown } from "./answer";
import { useKeptText, usePost } from "./context";
import { answerName } from "./drafts";
import { visible } from "./format";
import { Icon, KIND_ICONS } from "./icons";
import { AllowButton, Payload, ReadFirst, useReading } from "./payload";
import type { Failure } from "./store";

interface Props {
  asked: QuestionAsked;
  sessionId: string;
  /** Another one is looked at. */
  isHidden: boolean;
  failure: Failure | undefined;
}

export function Question({ asked, sessionId, isHidden, failure }: Props) {
  const post = usePost();
  const [text, setText] = useKeptText(answerName(sessionId, asked.questionId, "answer"));
  const [isSent, setSent] = useState(false);
  useEffect(() => setSent(false), [failure]);
  const answer = (said: string) => {
    setSent(true);
    post({ type: "answer", questionId: asked.questionId, text: said });
  };
  const isPlan = asked.steps.length > 0;
  const words = isPlan ? PLAN_WORDS : WORDS;
  return (
    <section
      class={isPlan ? "card question planned" : "card question"}
      hidden={isHidden}
      aria-label={t("The agent asks")}
    >
      <header>
        <Icon name={words.icon} />
        <div class="asking">
          {/* The steps stand below, so the first line is enough. */}
          <Markdown text={isPlan ? (asked.text.split("\n")[0] ?? "") : asked.text} />
        </div>
      </header>
      {failure && (
        <p class="problem" role="alert">
          {failure.problem}
        </p>
      )}
      {isPlan && <Steps steps={asked.steps} isSent={isSent} answer={answer} />}
      {!isPlan && <Options options={asked.options} isSent={isSent} answer={answer} />}
      <form
        class="rejection"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) answer(text.trim());
        }}
      >
        <input
          type="text"
          value={text}
          aria-label={words.field}
          placeholder={placeholder(asked)}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class={words.look} disabled={isSent || !text.trim()}>
          {words.send}
        </button>
      </form>
    </section>
  );
}

interface OptionsProps {
  options: readonly string[];
  isSent: boolean;
  answer: (words: string) => void;
}

function Options({ options, isSent, answer }: OptionsProps) {
  if (!options.length) return null;
  return (
    <div class="buttons choices">
      {options.map((option) => (
        <button
          key={option}
          type="button"
          class="secondary"
          disabled={isSent}
          onClick={(event) => {
            if (event.detail < 2) answer(option);
          }}
        >
          {option}
        </button>
      ))}
    </div>
  );
}

const WORDS = {
  icon: "question",
  field: t("Your answer"),
  send: t("Answer"),
  look: "primary",
} as const;
const PLAN_WORDS = {
  icon: "checklist",
  field: t("What to plan instead"),
  send: t("Plan anew"),
  look: "secondary",
} as const;

function placeholder({ steps, options }: QuestionAsked): string {
  if (steps.length) return t("What instead?");
  return options.length ? t("Other answer") : t("Your answer");
}

interface StepsProps {
  steps: readonly PlanStep[];
  isSent: boolean;
  answer: (words: string) => void;
}

/** The steps of a plan, each as an approval shows a call; those that are chosen may run. */
function Steps({ steps, isSent, answer }: StepsProps) {
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set());
  const reading = useReading();
  const reasonId = useId();
  const chosen = steps.map((_, index) => index + 1).filter((number) => !left.has(number));
  const unread = chosen.filter((number) => !reading.isRead(number)).length;
  const run = left.size === 0 ? "all" : chosen.join(", ");
  const choose = (number: number, isChosen: boolean) => {
    const now = new Set(left);
    if (isChosen) now.delete(number);
    else now.add(number);
    setLeft(now);
  };
  return (
    <>
      <ol class="steps" tabIndex={0} aria-label={plural(steps.length, "{0} step", "{0} steps")}>
        {steps.map((step, index) => (
          <li key={index}>
            <label>
              <input
                type="checkbox"
                checked={!left.has(index + 1)}
                disabled={isSent}
                onChange={(event) => choose(index + 1, event.currentTarget.checked)}
              />
              <Icon name={KIND_ICONS[step.kind]} />
              <span>
                {index + 1}. {visible(step.title)}
              </span>
            </label>
            <Payload
              text={step.payload}
              kind={step.kind}
              label={t("Exactly what step {0} does", index + 1)}
              onSeen={reading.onSeen(index + 1)}
            />
            {step.isAskedAgain && (
              <p class="dim">{t("Long: it asks again by itself before it runs.")}</p>
            )}
          </li>
        ))}
      </ol>
      <ReadFirst unread={unread} id={reasonId} />
      <div class="buttons">
        <AllowButton
          class="primary"
          unread={unread ? reasonId : null}
          disabled={isSent || !chosen.length}
          onClick={() => answer(run)}
        >
          {chosen.length === steps.length
            ? plural(steps.length, "Run {0} step", "Run {0} steps")
            : t("Run {0} of {1} steps", chosen.length, steps.length)}
        </AllowButton>
        {["one by one", "none"].map((words) => (
          <button
            key={words}
            type="button"
            class="secondary"
            disabled={isSent}
            onClick={(event) => {
              if (event.detail < 2) answer(words);
            }}
          >
            {planWords(words, steps.length)}
          </button>
        ))}
      </div>
    </>
  );
}
