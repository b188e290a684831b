// A plan of calls that the user was asked about: what was answered, and what became of each step.
import { t } from "../l10n";
import type { PlanStep } from "../wire";
import { replace } from "./items";
import type { AskedItem, AskedStep, CallItem, State, StepMark } from "./state";

/** What the user's answer to a plan does, in words; any other text is given as it is. */
export function words(answer: string, count: number): string {
  const said = answer.trim().toLowerCase();
  if (YES.has(said)) return every(count);
  if (said === EACH) return t("Ask before each step");
  if (NO.has(said)) return t("Run nothing");
  const numbers = chosen(said, count);
  if (!numbers) return answer;
  const last = numbers.at(-1) ?? 0;
  const others = numbers.slice(0, -1);
  if (!others.length) return t("Run step {0}", last);
  return t("Run steps {0} and {1}", others.join(", "), last);
}

// The server's words for answers: agent_ls/loop/calls/plans.py.
const YES: ReadonlySet<string> = new Set(["all", "yes", "y", "ok"]);
const NO: ReadonlySet<string> = new Set(["none", "no", "n", ""]);
const EACH = "one by one";
const NUMBERS = /^\d+(?:\s*-\s*\d+)?(?:[\s,;]+\d+(?:\s*-\s*\d+)?)*$/;

/** Say whether an answer lets steps run that nothing asks about again. */
export function allowsSteps(answer: string): boolean {
  const said = answer.trim().toLowerCase();
  return YES.has(said) || NUMBERS.test(said);
}

function every(count: number): string {
  if (count === 1) return t("Run the step");
  return count === 2 ? t("Run both steps") : t("Run all {0} steps", count);
}

/** The numbers of the steps that the answer names; null when it names none. */
function chosen(said: string, count: number): number[] | null {
  if (!NUMBERS.test(said)) return null;
  const numbers = new Set<number>();
  for (const [, first, last] of said.matchAll(/(\d+)(?:\s*-\s*(\d+))?/g)) {
    const end = Math.min(Number(last ?? first), count);
    for (let number = Math.max(1, Number(first)); number <= end; number += 1) numbers.add(number);
  }
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted.length ? sorted : null;
}

/** The steps of a plan that was answered. */
export function answeredSteps(steps: readonly PlanStep[], answer: string): AskedStep[] {
  const said = answer.trim().toLowerCase();
  const numbers = chosen(said, steps.length);
  return steps.map((step, index) => {
    const isChosen = YES.has(said) || said === EACH || numbers?.includes(index + 1);
    return { ...step, mark: isChosen ? "chosen" : "left out" };
  });
}

/** The state with a plan's step marked by what became of its call. */
export function marked(state: State, call: CallItem | null): State {
  if (!call) return state;
  const index = state.items.findLastIndex(
    (one) => one.kind === "asked" && one.steps.some((step) => step.toolCallId === call.id),
  );
  if (index < 0) return state;
  const item = state.items[index] as AskedItem;
  const mark = markOf(call);
  const steps = item.steps.map((one) => (one.toolCallId === call.id ? { ...one, mark } : one));
  return replace(state, index, { ...item, steps });
}

function markOf({ status, notRun, error, answer }: CallItem): StepMark {
  if (status === "pending") return "chosen";
  if (status === "in_progress") return "running";
  if (answer === "rejected" || error === "denied" || error === "cancelled" || notRun) {
    return "did not run";
  }
  return status === "failed" ? "failed" : "ran";
}

/** The item after its turn is over: what has not run will not. */
export function over(item: AskedItem): AskedItem {
  if (!item.steps.some(isOpen)) return item;
  const steps = item.steps.map((one): AskedStep =>
    isOpen(one) ? { ...one, mark: "did not run" } : one,
  );
  return { ...item, steps };
}

function isOpen({ mark }: AskedStep): boolean {
  return mark === "chosen" || mark === "running";
}
