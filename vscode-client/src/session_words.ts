// How a session is told in one line of a list: its name, state, age and cost.
import type { Live } from "./fold/live";
import { language, t } from "./l10n";
import type { SessionRow } from "./wire";

/** What a row is called. */
export function name(row: SessionRow): string {
  const title = row.title || t("Untitled");
  return row.agent ? `${row.agent}: ${title}` : title;
}

/**
 * State, age, cost and origin; what a session does now tells more than its age.
 *
 * `origin` is the session that it branched off from, if it is known.
 */
export function detail(
  row: SessionRow,
  live?: Live,
  origin?: SessionRow,
  now = Date.now(),
): string {
  const from = origin ? t("from “{0}”", name(origin)) : t("fork");
  const parts = [
    state(row, live) || ago(row.updatedMs, now),
    row.cost.amount ? `$${row.cost.amount.toFixed(2)}` : "",
    row.isDryRun ? t("dry run") : "",
    row.forkedFrom ? from : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function state(row: SessionRow, live: Live | undefined): string {
  const waiting = live?.waiting.size ?? 0;
  if (waiting) return waiting === 1 ? t("waits for you") : t("{0} wait for you", waiting);
  if (live?.isRunning) return t("works");
  return row.isInterrupted ? t("was cut off") : "";
}

/** The name of a row's picture. */
export function iconOf(row: SessionRow, live: Live | undefined, isShown: boolean): string {
  if (live?.waiting.size) return "bell-dot";
  if (live?.isRunning) return "loading~spin";
  if (row.isInterrupted) return "debug-continue";
  if (isShown) return "circle-filled";
  if (row.isArchived) return "archive";
  if (row.agent) return "hubot";
  return row.status === "failed" ? "error" : "comment-discussion";
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

function ago(atMs: number, now: number): string {
  const past = atMs - now;
  const format = new Intl.RelativeTimeFormat(language(), { numeric: "auto" });
  for (const [unit, length] of UNITS) {
    if (Math.abs(past) >= length) return format.format(Math.round(past / length), unit);
  }
  return t("just now");
}
