// Asks a person what only a person can answer.
import { useEffect, useState } from "preact/hooks";
import type { PlanStep, QuestionAsked } from "../wire";
import { Markdown } from "./answer";
import { usePost } from "./context";
import { plural, visible } from "./format";
import { Icon, KIND_ICONS } from "./icons";
import { Payload } from "./payload";
import type { Failure } from "./store";

export function Question({
  asked,
  failure,
}: {
  asked: QuestionAsked;
  failure: Failure | undefined;
}) {
  const post = usePost();
  const [text, setText] = useState("");
  const [isSent, setSent] = useState(false);
  useEffect(() => setSent(false), [failure]);
  const answer = (said: string) => {
    setSent(true);
    post({ type: "answer", questionId: asked.questionId, text: said });
  };
  const isPlan = asked.steps.length > 0;
  const words = isPlan ? PLAN_WORDS : WORDS;
  return (
    <section class="card question" aria-label="The agent asks">
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

const WORDS = { icon: "question", field: "Your answer", send: "Answer", look: "primary" } as const;
const PLAN_WORDS = {
  icon: "checklist",
  field: "What to plan instead",
  send: "Plan anew",
  look: "secondary",
} as const;

function placeholder({ steps, options }: QuestionAsked): string {
  if (steps.length) return "What to plan instead";
  return options.length ? "Or in your own words" : "Your answer";
}

interface StepsProps {
  steps: readonly PlanStep[];
  isSent: boolean;
  answer: (words: string) => void;
}

/** The steps of a plan, each as an approval shows a call; those that are chosen may run. */
function Steps({ steps, isSent, answer }: StepsProps) {
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set());
  const chosen = steps.map((_, index) => index + 1).filter((number) => !left.has(number));
  const isAll = left.size === 0;
  const choose = (number: number, isChosen: boolean) => {
    const now = new Set(left);
    if (isChosen) now.delete(number);
    else now.add(number);
    setLeft(now);
  };
  const many = plural(steps.length, "step");
  return (
    <>
      <ol class="steps">
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
              label={`Exactly what step ${index + 1} does`}
            />
            {step.isAskedAgain && <p class="dim">Long: it asks again by itself before it runs.</p>}
          </li>
        ))}
      </ol>
      <div class="buttons">
        {ANSWERS.map(([words, name]) => (
          <button
            key={words}
            type="button"
            class={words === "all" ? "primary" : "secondary"}
            disabled={isSent || (words === "all" && !chosen.length)}
            onClick={(event) => {
              if (event.detail < 2) answer(words === "all" && !isAll ? chosen.join(", ") : words);
            }}
          >
            {words !== "all" ? name : isAll ? `Run ${many}` : `Run ${chosen.length} of ${many}`}
          </button>
        ))}
      </div>
    </>
  );
}

/** What the server takes for an answer to a plan, and what it does. */
const ANSWERS: readonly [string, string][] = [
  ["all", ""],
  ["one by one", "Ask before each step"],
  ["none", "Run nothing"],
];
