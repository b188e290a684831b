// What the agent changed and nobody has decided about: one line, and the changes on demand.
import { plural, t } from "../l10n";
import type { ReviewFile, ReviewFileResult, ReviewHunk, ReviewTurn } from "../wire";
import { Stat } from "./call";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { FileName } from "./file_name";
import { sentence } from "./format";
import { Icon } from "./icons";
import { BothVersions } from "./restore";

interface Props {
  turns: readonly ReviewTurn[];
  /** What became of the files that were last decided about. */
  decided: readonly ReviewFileResult[];
  /** The turn that began last: what was undone of it can be done again. */
  lastTurn: string | null;
}

export function Changes({ turns, decided, lastTurn }: Props) {
  const open = turns
    .map((turn) => ({ turn, files: turn.files.filter((one) => those(one, "open").length > 0) }))
    .filter(({ files }) => files.length > 0)
    .reverse();
  const last = turns.find((one) => one.turnId === lastTurn);
  if (!open.length) return last ? <Undone turn={last} /> : null;
  const changes = open.flatMap(({ files }) => files.flatMap((one) => joined(those(one, "open"))));
  const files = new Set(open.flatMap((one) => one.files.map((file) => file.location.path)));
  const left = decided.filter((one) => one.status === "conflict" || one.status === "refused");
  return (
    <>
      <Disclosure
        class="changes"
        summary={
          <>
            <Icon name="checklist" />
            <span class="verb">{plural(changes.length, "{0} change", "{0} changes")}</span>
            <span class="what">{plural(files.size, "in {0} file", "in {0} files")}</span>
          </>
        }
      >
        {() =>
          open.map(({ turn, files: changed }) => (
            <Turn key={turn.turnId} turn={turn} files={changed} left={left} />
          ))
        }
      </Disclosure>
      {last && <Undone turn={last} />}
    </>
  );
}

interface TurnProps {
  turn: ReviewTurn;
  files: readonly ReviewFile[];
  /** The files that had to be left as they are. */
  left: readonly ReviewFileResult[];
}

function Turn({ turn, files, left }: TurnProps) {
  const post = usePost();
  const { sessionId, turnId } = turn;
  const decide = (decision: "keep" | "undo") =>
    post({ type: "decide", asked: { decision, sessionId, turnId } });
  return (
    <section aria-label={turn.prompt}>
      <div class="head turn">
        <span class="what" title={turn.prompt}>
          {turn.prompt}
        </span>
        <button
          type="button"
          class="secondary"
          aria-label={t("Keep All in this turn")}
          onClick={() => decide("keep")}
        >
          {t("Keep All")}
        </button>
        <button
          type="button"
          class="secondary"
          aria-label={t("Undo All in this turn")}
          onClick={() => decide("undo")}
        >
          {t("Undo All")}
        </button>
      </div>
      <ul>
        {files.map((file) => (
          <File
            key={file.location.path}
            file={file}
            turn={turn}
            left={left.find(
              (one) => one.turnId === turnId && one.location.path === file.location.path,
            )}
          />
        ))}
      </ul>
      {turn.leftFiles > 0 && (
        <p class="left">
          <Icon name="warning" class="warning" />
          <span>
            {plural(
              turn.leftFiles,
              "Commands changed {0} more file that cannot be reviewed or undone.",
              "Commands changed {0} more files that cannot be reviewed or undone.",
            )}
          </span>
        </p>
      )}
    </section>
  );
}

interface FileProps {
  file: ReviewFile;
  turn: ReviewTurn;
  left: ReviewFileResult | undefined;
}

function File({ file, turn, left }: FileProps) {
  const post = usePost();
  const { sessionId, turnId } = turn;
  const { path, uri } = file.location;
  const hunks = those(file, "open");
  // A file that was made or taken away is one change, which its own line says all about.
  const isOne = hunks.length === 1 && hunks[0]?.kind !== "text";
  const decide = (decision: "keep" | "undo", hunkIds?: string[]) =>
    post({
      type: "decide",
      asked: { decision, sessionId, turnId, path, ...(hunkIds ? { hunkIds } : {}) },
    });
  return (
    <li>
      <div class="head">
        <button
          type="button"
          class="change"
          title={t("Show the changes side by side")}
          onClick={() => post({ type: "diff", sessionId, turnId, path })}
        >
          <FileName path={path} />
          {isOne && <span class="kind">{hunks.map(kindWords)}</span>}
          <span class="sr">{t(": show the changes side by side")}</span>
        </button>
        <Stat edits={hunks} />
        <Buttons of={path} onKeep={() => decide("keep")} onUndo={() => decide("undo")} />
      </div>
      {left && (
        <p class="left" role="alert">
          <Icon name="warning" class="warning" />
          <span>
            {sentence(left.reason)} <BothVersions file={left} />
          </span>
        </p>
      )}
      {!isOne && (
        <ul>
          {joined(hunks).map((one) => (
            <li key={one.hunkId} class="head">
              <button
                type="button"
                class="change"
                disabled={!uri}
                onClick={() => uri && post({ type: "open", uri, line: one.line })}
              >
                <span class="sr">{one.kind === "text" ? t("Go to line ") : t("Go to ")}</span>
                <span class="line-number">{one.kind === "text" && one.line + 1}</span>
                <span class="sr">{t(" of {0}: ", path)}</span>
                <span class={one.kind === "text" ? "sample" : "kind"}>
                  {one.kind === "text" ? one.title : kindWords(one)}
                </span>
              </button>
              {one.isChangedSince && (
                <span
                  class="since"
                  title={t("You changed these lines since: an undo is a conflict")}
                >
                  <Icon name="warning" class="warning" />
                  <span class="sr">{t("changed since")}</span>
                </span>
              )}
              <Buttons
                of={t("{0} of {1}", hunkName(one), path)}
                onKeep={() => decide("keep", one.ids)}
                onUndo={() => decide("undo", one.ids)}
              />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** Hunks as a reader sees them: what only a blank line parts is one change. */
function joined(hunks: readonly ReviewHunk[]): (ReviewHunk & { ids: string[] })[] {
  const found: (ReviewHunk & { ids: string[] })[] = [];
  for (const one of hunks) {
    const last = found.at(-1);
    if (!last || !one.continues) {
      found.push({ ...one, ids: [one.hunkId] });
      continue;
    }
    last.ids.push(one.hunkId);
    last.isChangedSince ||= one.isChangedSince;
  }
  return found;
}

function hunkName({ kind, line }: ReviewHunk): string {
  return kind === "text" ? t("line {0}", line + 1) : KINDS[kind];
}

function kindWords({ kind, title }: ReviewHunk): string {
  if (kind === "opaque") return title;
  return kind === "moved" ? t("moved from {0}", title) : KINDS[kind];
}

const KINDS: Record<ReviewHunk["kind"], string> = {
  text: t("changed"),
  created: t("new"),
  deleted: t("deleted"),
  moved: t("moved"),
  opaque: t("whole file"),
};

function Buttons({ of, onKeep, onUndo }: { of: string; onKeep: () => void; onUndo: () => void }) {
  return (
    <>
      <button
        type="button"
        class="tool"
        title={t("Keep")}
        aria-label={t("Keep {0}", of)}
        onClick={onKeep}
      >
        <Icon name="check" />
      </button>
      <button
        type="button"
        class="tool"
        title={t("Undo")}
        aria-label={t("Undo {0}", of)}
        onClick={onUndo}
      >
        <Icon name="discard" />
      </button>
    </>
  );
}

/** What was undone of the last turn, and the way to have it again. */
function Undone({ turn: { sessionId, turnId, files } }: { turn: ReviewTurn }) {
  const post = usePost();
  const count = files.flatMap((one) => joined(those(one, "undone"))).length;
  if (!count) return null;
  return (
    <div class="line note undone">
      <Icon name="discard" />
      <span class="words">{plural(count, "{0} change undone", "{0} changes undone")}</span>
      <button
        type="button"
        class="place"
        aria-label={t("Redo what was undone")}
        onClick={() => post({ type: "decide", asked: { decision: "redo", sessionId, turnId } })}
      >
        {t("Redo")}
      </button>
    </div>
  );
}

function those(file: ReviewFile, state: ReviewHunk["state"]): ReviewHunk[] {
  return file.hunks.filter((one) => one.state === state);
}
