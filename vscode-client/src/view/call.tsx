// One tool call: a line while nobody asks for more, live output while it runs.
import { memo } from "preact/compat";
import type { CallItem } from "../fold/state";
import { plural, t } from "../l10n";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { FileName } from "./file_name";
import {
  callInput,
  callWords,
  duration,
  firstLine,
  lastLines,
  localized,
  printed,
  visible,
} from "./format";
import { Icon, type IconName, KIND_ICONS } from "./icons";
import { Words } from "./payload";
import { RestoreAnswer, RestoreButton, useRestoring } from "./restore";
import { nameOf } from "./rows";

const LIVE_LINES = 8;
const MAX_SHOWN = 20_000;

export const Call = memo(({ item }: { item: CallItem }) => {
  const restoring = useRestoring({ turnId: item.turnId, toolCallId: item.id });
  const isRunning = item.status === "in_progress";
  const why = complaint(item);
  return (
    <div class={`call ${item.status}`}>
      <div class="with-tools">
        <Disclosure
          name={nameOf(item)}
          summary={(isOpen) => <Summary item={item} isOpen={isOpen} />}
        >
          {() => <Details item={item} />}
        </Disclosure>
        <RestoreButton restoring={restoring} of={callWords(item).join(" ")} />
      </div>
      {isRunning && item.output.trim() && (
        <pre class="live" aria-hidden="true">
          {lastLines(printed(item.output), LIVE_LINES)}
        </pre>
      )}
      {why && <div class={isRefused(item) ? "why refused" : "why"}>{why}</div>}
      <RestoreAnswer restoring={restoring} isRestored={item.isRestored} />
    </div>
  );
});

function Summary({ item, isOpen }: { item: CallItem; isOpen: boolean }) {
  const [verb, what] = callWords(item);
  return (
    <>
      <Icon name={icon(item)} class={look(item)} />
      <span class="verb">{verb}</span>
      <What item={item} what={what} isOpen={isOpen} />
      <Facts item={item} />
    </>
  );
}

const FILE_KINDS: ReadonlySet<CallItem["toolKind"]> = new Set(["read", "edit", "delete", "move"]);

/** What a call is about: a file by its name, a command in full when it is open. */
function What({ item, what, isOpen }: { item: CallItem; what: string; isOpen: boolean }) {
  if (!what) return null;
  if (FILE_KINDS.has(item.toolKind)) return <FileName path={what} />;
  const command = commandOf(item);
  return (
    <span class={isOpen ? "what whole" : "what"} title={command ?? what}>
      {command === null ? what : <Words of={command} />}
    </span>
  );
}

/** A command with its own line ends, which its title has as signs. */
function commandOf({ tool, input }: CallItem): string | null {
  if (tool !== "run_command" || input === null || typeof input !== "object") return null;
  const command = "command" in input ? input.command : null;
  return typeof command === "string" ? visible(command.trim()) : null;
}

/** What is known of a call at the end of its line; `steps` are those of a sub-agent. */
export function Facts({ item, steps = 0 }: { item: CallItem; steps?: number }) {
  const isLong = (item.durationMs ?? 0) >= 100;
  return (
    <span class="facts">
      <Stat edits={item.edits} />
      {item.answer && <span class="sr">{ANSWER_WORDS[item.answer]}</span>}
      {item.badExit && <span class="bad-exit">{item.badExit}</span>}
      {item.notRun && <span>{localized(item.notRun)}</span>}
      {steps > 0 && <span>{plural(steps, "{0} step", "{0} steps")}</span>}
      {isLong && <span>{duration(item.durationMs ?? 0)}</span>}
      {!item.notRun && <span class="sr">{STATUS_WORDS[item.status]}</span>}
    </span>
  );
}

const STATUS_WORDS: Record<CallItem["status"], string> = {
  pending: t("waiting"),
  in_progress: t("running"),
  completed: t("done"),
  failed: t("failed"),
};

const ANSWER_WORDS: Record<NonNullable<CallItem["answer"]>, string> = {
  allowed: t("You allowed it"),
  amended: t("You allowed it with changes"),
  rejected: "",
  cancelled: "",
};

function icon(item: CallItem): IconName {
  if (item.status === "in_progress") return "loading";
  if (item.notRun) return "circleSlash";
  if (item.status === "failed") return isRefused(item) ? "circleSlash" : "error";
  return item.badExit ? "warning" : KIND_ICONS[item.toolKind];
}

function look(item: CallItem): string {
  if (isRefused(item) || item.notRun) return "refused";
  return item.badExit ? "warning" : item.status;
}

/** Says whether it did not run to its end because somebody or something did not want it to. */
function isRefused({ error }: CallItem): boolean {
  return error === "denied" || error === "cancelled";
}

/** Lines added and removed. */
export function Stat({
  edits,
}: {
  edits: readonly { addedLines: number; removedLines: number }[];
}) {
  const added = edits.reduce((sum, one) => sum + one.addedLines, 0);
  const removed = edits.reduce((sum, one) => sum + one.removedLines, 0);
  if (!added && !removed) return null;
  return (
    <span class="stat">
      {added > 0 && <span class="added">+{added}</span>}
      {removed > 0 && <span class="removed">−{removed}</span>}
    </span>
  );
}

/** Why it did not do what it should, in one line. */
function complaint(item: CallItem): string {
  if (item.answer === "rejected")
    return item.note ? t("You said no: {0}", item.note) : t("You said no");
  if (item.status !== "failed") return "";
  return firstLine(item.refusal || item.result || "");
}

export function Details({ item }: { item: CallItem }) {
  const post = usePost();
  const input = callInput(item.input);
  const output = printed(item.result ?? item.output);
  const places = item.edits.length ? item.edits.map((one) => one.location) : item.locations;
  return (
    <>
      {places.map(
        ({ uri, path, line }) =>
          uri && (
            <button
              key={path}
              type="button"
              class="place"
              onClick={() => post({ type: "open", uri, line })}
            >
              {path}
            </button>
          ),
      )}
      {input && <Text label={t("Arguments")} text={input} />}
      {output.trim() && <Text label={t("Result")} text={output} />}
    </>
  );
}

function Text({ label, text }: { label: string; text: string }) {
  const isCut = text.length > MAX_SHOWN;
  return (
    <>
      <div class="label">{label}</div>
      <pre class="text" role="region" tabIndex={0} aria-label={label}>
        {isCut ? `${text.slice(0, MAX_SHOWN)}\n…` : text}
      </pre>
    </>
  );
}
