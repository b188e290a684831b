// What the agent changed and nobody has decided about: one line, and the files on demand.
import type { ReviewFile, ReviewHunk, ReviewTurn } from "../wire";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { plural } from "./format";
import { Icon } from "./icons";

const KINDS: Record<ReviewHunk["kind"], string> = {
  text: "changed",
  created: "new",
  deleted: "deleted",
  moved: "moved",
  opaque: "no text",
};

export function Changes({ turns }: { turns: readonly ReviewTurn[] }) {
  const post = usePost();
  const open = turns
    .map((turn) => ({ turn, files: turn.files.filter((one) => openHunks(one).length > 0) }))
    .filter(({ files }) => files.length > 0)
    .reverse();
  if (!open.length) return null;
  const hunks = open.flatMap(({ files }) => files.flatMap(openHunks));
  const files = new Set(open.flatMap((one) => one.files.map((file) => file.location.path)));
  return (
    <Disclosure
      class="changes"
      summary={
        <>
          <Icon name="checklist" />
          <span class="verb">{plural(hunks.length, "change")}</span>
          <span class="what">to review in {plural(files.size, "file")}</span>
        </>
      }
    >
      {() =>
        open.map(({ turn, files: changed }) => {
          const { sessionId, turnId } = turn;
          return (
            <section key={turnId} aria-label={turn.prompt}>
              <div class="head">
                <span class="what">{turn.prompt}</span>
                <Buttons
                  of="the turn"
                  onKeep={() =>
                    post({ type: "decide", asked: { decision: "keep", sessionId, turnId } })
                  }
                  onUndo={() =>
                    post({ type: "decide", asked: { decision: "undo", sessionId, turnId } })
                  }
                />
              </div>
              <ul>
                {changed.map((file) => (
                  <File key={file.location.path} file={file} turn={turn} />
                ))}
              </ul>
            </section>
          );
        })
      }
    </Disclosure>
  );
}

function File({ file, turn }: { file: ReviewFile; turn: ReviewTurn }) {
  const post = usePost();
  const { sessionId, turnId } = turn;
  const { path, uri } = file.location;
  const hunks = openHunks(file);
  const added = hunks.reduce((sum, one) => sum + one.addedLines, 0);
  const removed = hunks.reduce((sum, one) => sum + one.removedLines, 0);
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
          class="link"
          title="Show the changes side by side"
          onClick={() => post({ type: "diff", sessionId, turnId, path })}
        >
          {path}
        </button>
        <span class="added">+{added}</span>
        <span class="removed">-{removed}</span>
        <Buttons of={path} onKeep={() => decide("keep")} onUndo={() => decide("undo")} />
      </div>
      <ul>
        {hunks.map((one) => {
          const name = one.kind === "text" ? `line ${one.line + 1}` : KINDS[one.kind];
          return (
            <li key={one.hunkId} class="head">
              <button
                type="button"
                class="link"
                disabled={!uri}
                onClick={() => uri && post({ type: "open", uri, line: one.line })}
              >
                {name}
              </button>
              {one.isChangedSince && <span class="dim">changed since</span>}
              <Buttons
                of={`${name} of ${path}`}
                onKeep={() => decide("keep", [one.hunkId])}
                onUndo={() => decide("undo", [one.hunkId])}
              />
            </li>
          );
        })}
      </ul>
    </li>
  );
}

function Buttons({ of, onKeep, onUndo }: { of: string; onKeep: () => void; onUndo: () => void }) {
  return (
    <span class="buttons">
      <button type="button" class="secondary" aria-label={`Keep ${of}`} onClick={onKeep}>
        Keep
      </button>
      <button type="button" class="secondary" aria-label={`Undo ${of}`} onClick={onUndo}>
        Undo
      </button>
    </span>
  );
}

function openHunks(file: ReviewFile): ReviewHunk[] {
  return file.hunks.filter((one) => one.state === "open");
}
