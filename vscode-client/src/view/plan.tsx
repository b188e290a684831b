// The agent's plan: one line that says how far it is, and the whole on demand.
import { t } from "../l10n";
import type { PlanEntry, PlanStatus } from "../wire";
import { Disclosure } from "./disclosure";
import { Icon, type IconName } from "./icons";

const ICONS: Record<PlanStatus, IconName> = {
  pending: "circle",
  in_progress: "circleFilled",
  completed: "pass",
  blocked: "circleSlash",
};

const WORDS: Record<PlanStatus, string> = {
  pending: t("to do"),
  in_progress: t("in progress"),
  completed: t("done"),
  blocked: t("blocked"),
};

export function Plan({ entries }: { entries: readonly PlanEntry[] }) {
  if (!entries.length) return null;
  const done = entries.filter((one) => one.status === "completed").length;
  const current =
    entries.find((one) => one.status === "in_progress") ??
    entries.find((one) => one.status === "pending");
  return (
    <Disclosure
      class="plan"
      summary={
        <>
          <Icon name="checklist" />
          <span class="verb">{t("To do {0}/{1}", done, entries.length)}</span>
          <span class="what">{current?.content ?? t("all done")}</span>
        </>
      }
    >
      {() => (
        <ol>
          {entries.map((one, index) => (
            <li key={index} class={one.status}>
              <Icon name={ICONS[one.status]} />
              <span>{one.content}</span>
              <span class="sr">{WORDS[one.status]}</span>
            </li>
          ))}
        </ol>
      )}
    </Disclosure>
  );
}
