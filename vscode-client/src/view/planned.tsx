// A plan that was answered: its steps as they were shown, and which of them ran.
import { words } from "../fold/plans";
import type { AskedItem, AskedStep, StepMark } from "../fold/state";
import { plural, t } from "../l10n";
import { Disclosure } from "./disclosure";
import { visible } from "./format";
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
  chosen: t("to run"),
  running: t("running"),
  ran: t("ran"),
  failed: t("failed"),
  "did not run": t("did not run"),
  "left out": t("not chosen"),
};

export function Planned({ item: { steps, answer } }: { item: AskedItem }) {
  const heading = plural(steps.length, "Plan of {0} step", "Plan of {0} steps");
  return (
    <section class="card question planned" aria-label={heading}>
      <header>
        <Icon name="checklist" />
        <h2>{heading}</h2>
      </header>
      <ol class="steps">
        {steps.map((step, index) => (
          <Step key={index} step={step} number={index + 1} />
        ))}
      </ol>
      <p class="reply">
        <span class="dim">{t("You answered: ")}</span>
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
            label={t("Exactly what step {0} does", number)}
          />
        )}
      </Disclosure>
    </li>
  );
}
