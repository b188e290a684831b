// The conversation so far; stays at its end while the reader is there.
import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { State } from "../fold/state";
import { t } from "../l10n";
import { CutOff } from "./cut_off";
import { Entry } from "./entry";
import { Icon } from "./icons";
import { type Spot, usePlace } from "./place";
import { isLine, type Row, rowsOf } from "./rows";
import { useWindow, type Window } from "./window";

const NEAR_PX = 40;

export function Transcript({ session }: { session: State }) {
  const box = useRef<HTMLDivElement>(null);
  const place = usePlace();
  const { cutOff, turn } = session;
  const last = session.items.at(-1);
  const broken = cutOff && last?.kind === "resumed" ? last : null;
  // The last break is told by the line that ends it.
  const items = useMemo(
    () => (broken ? session.items.slice(0, -1) : session.items),
    [session.items, broken],
  );
  const rows = useMemo(() => rowsOf(items), [items]);
  const names = useMemo(() => rows.map((one) => one.name), [rows]);
  const window = useWindow({
    box,
    names,
    estimate: (index) => estimated(rows[index]),
    spot: place.spot,
  });
  const [isAtEnd, toEnd, onScroll] = useEnd(box, place.spot, window, (spot) => {
    place.spot = spot;
  });
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        ref={box}
        role="log"
        aria-label={t("Conversation")}
        aria-live="off"
        tabIndex={0}
        data-end={isAtEnd}
        onScroll={onScroll}
      >
        {drawn(rows, window, turn === null)}
        {cutOff && <CutOff lost={broken?.interrupted.length ?? 0} />}
        {turn && <Activity session={session} />}
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" onClick={toEnd} title={t("To the end")}>
          <Icon name="chevronDown" />
          <span class="sr">{t("To the end of the conversation")}</span>
        </button>
      )}
    </div>
  );
}

/** The rows in sight, with space in the place of the others. */
function drawn(rows: readonly Row[], window: Window, isIdle: boolean) {
  const parts: VNode[] = [];
  let bottom = 0;
  const space = (name: string, height: number) => {
    // Always there, so that what follows it is not taken for another row.
    parts.push(
      <div key={name} class="space-rows" style={{ height: `${Math.max(0, height)}px` }} />,
    );
  };
  space("above", window.items[0]?.start ?? 0);
  bottom = window.items[0]?.start ?? 0;
  for (const { index, start, end } of window.items) {
    const row = rows[index];
    if (!row) continue;
    if (start > bottom) space(`above ${row.name}`, start - bottom);
    bottom = end;
    parts.push(
      <div key={row.name} class={look(rows, index)} data-index={index} ref={window.measure}>
        <Entry row={row} isLast={isIdle && index === rows.length - 1} />
      </div>,
    );
  }
  space("below", window.total - bottom);
  return parts;
}

/** Lines that follow each other stand closer, and a prompt begins something new. */
function look(rows: readonly Row[], index: number): string {
  const [row, next] = [rows[index], rows[index + 1]];
  const isTight = row && next && isLine(row) && isLine(next);
  const isPrompt = row?.kind === "one" && row.item.kind === "user" && !row.item.isSteer;
  return `entry${isTight ? " tight" : ""}${isPrompt && index > 0 ? " begins" : ""}`;
}

const CHARACTERS_PER_LINE = 44;
const LINE_PX = 19;

/** How high a row probably is; it is measured when it is drawn. */
function estimated(row: Row | undefined): number {
  if (!row || row.kind === "group") return 25;
  const { item } = row;
  const lines = (length: number) => LINE_PX * Math.ceil(length / CHARACTERS_PER_LINE);
  if (item.kind === "user") return 44 + lines(item.text.length);
  if (item.kind === "answer") return 16 + lines(item.kept.length + item.text.length);
  return item.kind === "end" ? 40 + 27 * item.files.length : 25;
}

type Scrolled = (event: { currentTarget: HTMLDivElement }) => void;

/**
 * Keeps a box at its end, or at the spot where the reader was, until they scroll.
 *
 * `onSpot` gets what is seen at the top, null at the end.
 */
function useEnd(
  box: { current: HTMLDivElement | null },
  before: Spot | null,
  { spotAt, topOf }: Window,
  onSpot: (spot: Spot | null) => void,
): [boolean, () => void, Scrolled] {
  const [isAtEnd, setAtEnd] = useState(before === null);
  const follows = useRef(before === null);
  const returnsTo = useRef(before);
  const lastTop = useRef(0);
  const scroll = (top: number) => {
    const area = box.current;
    if (!area) return;
    area.scrollTop = top;
    lastTop.current = area.scrollTop;
  };
  const toEnd = () => scroll(box.current?.scrollHeight ?? 0);
  const stay = useRef(() => {});
  stay.current = () => {
    if (follows.current) return toEnd();
    // Rows above it are measured only now, and a panel that comes back has no height at first.
    const top = returnsTo.current && topOf(returnsTo.current);
    if (top !== null) scroll(top);
  };
  const follow = (isEnd: boolean) => {
    follows.current = isEnd;
    setAtEnd(isEnd);
  };
  useLayoutEffect(() => stay.current());
  useLayoutEffect(() => {
    // The room shrinks when something below asks for attention, and rows grow by themselves.
    const watch = new ResizeObserver(() => stay.current());
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const onScroll: Scrolled = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
    if (returnsTo.current && Math.abs(scrollTop - lastTop.current) <= 1) return;
    returnsTo.current = null;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (isNear) follow(true);
    else if (scrollTop < lastTop.current) follow(false);
    lastTop.current = scrollTop;
    onSpot(follows.current ? null : spotAt(scrollTop));
  };
  return [
    isAtEnd,
    () => {
      follow(true);
      toEnd();
    },
    onScroll,
  ];
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
  if (turn.isStopping) return t("Stopping");
  const mine = items.slice(items.findLastIndex((one) => one.key < turn.firstKey) + 1);
  switch (turn.phase) {
    case "check":
    case "prepare":
    case "call": {
      // The notice goes when an answer came.
      const isTroubled = mine.some((one) => one.kind === "notice" && one.id === `model:${turn.id}`);
      return isTroubled ? t("Waiting for the model") : t("Thinking");
    }
    case "compact":
      return t("Shortening the conversation");
    case "act": {
      const running = mine.filter((one) => one.kind === "call" && one.status === "in_progress");
      return running.length > 1 ? t("Running {0} calls", running.length) : t("Working");
    }
    case "judge":
      return t("Checking the result");
    case "close":
    case "done":
      return t("Finishing");
  }
}
