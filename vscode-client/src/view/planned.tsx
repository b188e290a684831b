// A plan that was answered: its steps as they were shown, and which of them ran.
import { words } from "../fold/plans";
import type { AskedItem, AskedStep, StepMark } from "../fold/state";
import { Disclosure } from "./disclosure";
import { plural, visible } from "./format";
import { Icon, type IconName, KIND_ICONS } from "./icons";
import { Payload } from "./payload";

const MARKS: Record<StepMark, [IconName, string]> = {
  chosen: ["circle", ""],
  running: ["loading", ""],
  ran: ["pass", "good"],
  failed: ["error", "failed"],
  "did not run": ["circleSlash", "refused"],
  "left out": ["circleSlash", "refused"],
};

const MARK_WORDS: Record<StepMark, string> = {
  chosen: "to run",
  running: "running",
  ran: "ran",
  failed: "failed",
  "did not run": "did not run",
  "left out": "not chosen",
};

export function Planned({ item: { steps, answer } }: { item: AskedItem }) {
  const many = plural(steps.length, "step");
  return (
    <section class="card question planned" aria-label={`Plan of ${many}`}>
      <header>
        <Icon name="checklist" />
        <h2>Plan of {many}</h2>
      </header>
      <ol class="steps">
        {steps.map((step, index) => (
          <Step key={index} step={step} number={index + 1} />
        ))}
      </ol>
      <p class="reply">
        <span class="sr">You answered: </span>
        {words(answer, steps.length)}
      </p>
    </section>
  );
}

function Step({ step, number }: { step: AskedStep; number: number }) {
  const [icon, look] = MARKS[step.mark];
  return (
    <li>
      <Disclosure
        summary={
          <>
            <Icon name={icon} class={look} />
            <Icon name={KIND_ICONS[step.kind]} />
            <span class="words">
              {number}. {visible(step.title)}
            </span>
            <span class="facts">{MARK_WORDS[step.mark]}</span>
          </>
        }
      >
        {() => (
          <Payload
            text={step.payload}
            kind={step.kind}
            label={`Exactly what step ${number} does`}
          />
        )}
      </Disclosure>
    </li>
  );
}
