// How a session is told in one line of a list: its name, state, age and cost.
import type { Live } from "./fold/live";
import type { SessionRow } from "./wire";

/** What a row is called. */
export function name(row: SessionRow): string {
  const title = row.title || "Untitled";
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
  const from = origin ? `from “${name(origin)}”` : "fork";
  const parts = [
    state(row, live) || ago(row.updatedMs, now),
    row.cost.amount ? `$${row.cost.amount.toFixed(2)}` : "",
    row.isDryRun ? "dry run" : "",
    row.forkedFrom ? from : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function state(row: SessionRow, live: Live | undefined): string {
  const waiting = live?.waiting.size ?? 0;
  if (waiting) return waiting === 1 ? "waits for you" : `${waiting} wait for you`;
  if (live?.isRunning) return "works";
  return row.isInterrupted ? "was cut off" : "";
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
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of UNITS) {
    if (Math.abs(past) >= length) return format.format(Math.round(past / length), unit);
  }
  return "just now";
}
