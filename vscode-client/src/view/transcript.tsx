// The conversation so far; stays at its end while the reader is there.
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Item, State, UserItem } from "../fold/state";
import { Answer } from "./answer";
import { Call } from "./call";
import { usePost } from "./context";
import { CutOff } from "./cut_off";
import { plural } from "./format";
import { Icon } from "./icons";
import { useKept } from "./kept";
import { bringBack, readingOf } from "./reading";
import { RestoreAnswer, RestoreButton, useRestoring } from "./restore";
import { Asked, Compacted, End, Findings, Gate, Notice, Nudge, Resumed } from "./notes";

const NEAR_PX = 40;

export function Transcript({ session }: { session: State }) {
  const box = useRef<HTMLDivElement>(null);
  const kept = useKept();
  const { sessionId, cutOff } = session;
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
  useLayoutEffect(() => {
    // Back where the reader was before the page was hidden.
    const reading = kept.reading(sessionId);
    setAtEnd(reading === null);
    if (box.current && reading) bringBack(box.current, reading);
  }, [sessionId]);
  useEffect(() => {
    if (isAtEnd) toEnd();
  }, [session, isAtEnd]);
  useEffect(() => {
    // The room shrinks when something below asks for attention.
    const watch = new ResizeObserver(() => {
      if (box.current && box.current.dataset.end === "true") toEnd();
    });
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const last = session.items.at(-1);
  const broken = cutOff && last?.kind === "resumed" ? last : null;
  // The last break is told by the line that ends it.
  const items = broken ? session.items.slice(0, -1) : session.items;
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        ref={box}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        data-end={isAtEnd}
        onScroll={({ currentTarget }) => {
          const { scrollHeight, scrollTop, clientHeight } = currentTarget;
          const isNear = scrollHeight - scrollTop - clientHeight < NEAR_PX;
          setAtEnd(isNear);
          kept.keepReading(sessionId, isNear ? null : readingOf(currentTarget));
        }}
      >
        {items.map((item) => (
          <Entry key={item.key} item={item} />
        ))}
        {cutOff && <CutOff lost={broken?.interrupted.length ?? 0} />}
        {session.turn && <Activity session={session} />}
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" onClick={toEnd} title="To the end">
          <Icon name="chevronDown" />
          <span class="sr">To the end of the conversation</span>
        </button>
      )}
    </div>
  );
}

const Entry = memo(({ item }: { item: Item }) => {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "answer":
      return <Answer item={item} />;
    case "call":
      return <Call item={item} />;
    case "nudge":
      return <Nudge item={item} />;
    case "gate":
      return <Gate item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "findings":
      return <Findings item={item} />;
    case "asked":
      return <Asked item={item} />;
    case "compacted":
      return <Compacted item={item} />;
    case "resumed":
      return <Resumed item={item} />;
    case "end":
      return <End item={item} />;
  }
});

function User({ item }: { item: UserItem }) {
  const post = usePost();
  const restoring = useRestoring({ turnId: item.turnId ?? "", toolCallId: null });
  const { anchor } = item;
  const uri = anchor?.uri;
  return (
    <div class={item.isSteer ? "user steer" : "user"}>
      <span class="sr">You said:</span>
      <div class="with-tools">
        <div class="said">{item.text}</div>
        <RestoreButton restoring={restoring} of={`the turn “${item.text}”`} />
      </div>
      {anchor && (
        <button
          type="button"
          class="place"
          disabled={!uri}
          onClick={() => uri && post({ type: "open", uri, line: anchor.line })}
        >
          {anchor.path}
          {anchor.line !== null && `:${anchor.line + 1}`}
        </button>
      )}
      <RestoreAnswer restoring={restoring} isRestored={item.isRestored} />
    </div>
  );
}

function Activity({ session }: { session: State }) {
  const isWaiting = session.approvals.length > 0 || session.questions.length > 0;
  if (isWaiting && !session.turn?.isStopping) return null;
  return (
    <div class="line note activity">
      <Icon name="loading" />
      <span class="words">{activity(session)}</span>
    </div>
  );
}

/** What goes on right now, in a few words. */
export function activity({ turn, items }: State): string {
  if (!turn) return "";
  if (turn.isStopping) return "Stopping";
  const running = items.filter((one) => one.kind === "call" && one.status === "in_progress").length;
  switch (turn.phase) {
    case "check":
    case "prepare":
    case "call":
      return "Thinking";
    case "compact":
      return "Shortening the conversation";
    case "act":
      return running > 1 ? `Running ${plural(running, "call")}` : "Working";
    case "judge":
      return "Checking the result";
    case "close":
    case "done":
      return "Finishing";
  }
}
