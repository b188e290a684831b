// Exactly what a call would do or did: a command, or a diff line by line; and whether it was seen.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";
import type { ToolKind } from "../wire";
import { visible } from "./format";
import { Icon } from "./icons";

interface Props {
  text: string;
  kind: ToolKind;
  label: string;
  /** Called once, when the end of the text was on the screen. */
  onSeen?: () => void;
}

/** Text in full, its lines wrapped; a diff gets its colours, and a command its line ends marked. */
export function Payload({ text, kind, label, onSeen }: Props) {
  const lines = visible(text).replace(/\n$/, "").split("\n");
  const isDiff = kind !== "execute" && lines.some((line) => /^@@ /.test(line));
  // The last line says where a command runs and belongs to none.
  const isWhere = (index: number) =>
    kind === "execute" && index === lines.length - 1 && /^\(in .*\)$/.test(lines[index] ?? "");
  const look = kind === "execute" ? "payload command" : "payload";
  return (
    <pre class={look} role="region" tabIndex={0} aria-label={label}>
      {lines.map((line, index) => (
        <span key={index} class={`row ${isDiff ? lineKind(line) : isWhere(index) ? "where" : ""}`}>
          {kind === "execute" ? <Words of={line || " "} /> : line || " "}
        </span>
      ))}
      {onSeen && <End onSeen={onSeen} />}
    </pre>
  );
}

/** A line of a command: its options are not cut behind their dashes where the line wraps. */
export function Words({ of: line }: { of: string }) {
  return line.split(/(\s+)/).map((word, index) =>
    word.includes("-") ? (
      <span key={index} class="word">
        {word}
      </span>
    ) : (
      word
    ),
  );
}

function lineKind(line: string): string {
  if (/^(---|\+\+\+) /.test(line)) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return "same";
}

/** Stands behind the last line of what scrolls, and tells once when it was on the screen. */
export function End({ onSeen }: { onSeen: () => void }) {
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // It knows about everything that hides the place: each box that scrolls, and the window.
    const watch = new IntersectionObserver(
      (entries) => {
        if (!entries.some((one) => one.isIntersecting && one.intersectionRatio >= HALF)) return;
        watch.disconnect();
        end.current?.removeAttribute("data-unseen");
        onSeen();
      },
      // A place that only touches the edge is not seen.
      { threshold: HALF },
    );
    if (end.current) watch.observe(end.current);
    return () => watch.disconnect();
  }, []);
  return <span class="payload-end" ref={end} data-unseen="" />;
}

const HALF = 0.5;

/** Which parts of a card were seen to their end. */
export interface Reading {
  isRead: (part: number) => boolean;
  /** What a part's payload calls when its end was seen. */
  onSeen: (part: number) => () => void;
}

export function useReading(): Reading {
  const [seen, setSeen] = useState<ReadonlySet<number>>(new Set());
  return {
    isRead: (part) => seen.has(part),
    onSeen: (part) => () => setSeen((before) => new Set([...before, part])),
  };
}

interface GateProps {
  /** How many parts were not seen to their end. */
  unread: number;
  /** The reason's id, for `aria-describedby` of what does not work until then. */
  id: string;
}

/** Says why nothing can be allowed yet, and leads to the end of what was not seen. */
export function ReadFirst({ unread, id }: GateProps) {
  if (!unread) return null;
  const lead = (card: Element | null) => {
    const ends = [...(card?.querySelectorAll(".payload-end[data-unseen]") ?? [])];
    // A step that is not to run need not be read.
    const end = ends.find((one) => !one.closest("li")?.querySelector("input:not(:checked)"));
    end?.scrollIntoView({ block: "end" });
    end?.closest<HTMLElement>(".payload")?.focus({ preventScroll: true });
  };
  return (
    // It stands above the buttons, so that none of them moves under the pointer when it goes.
    <button
      type="button"
      class="read-first"
      id={id}
      onClick={(event) => lead(event.currentTarget.closest(".card"))}
    >
      <Icon name="chevronDown" />
      {unread > 1
        ? t("Read to the end first: {0} steps not seen yet", unread)
        : t("Read to the end first")}
    </button>
  );
}

interface AllowProps {
  class: string;
  /** The id of what says that it must be read first; null: it was. */
  unread: string | null;
  disabled: boolean;
  onClick: () => void;
  children: ComponentChildren;
}

/** A button that allows something, once that was read to its end. */
export function AllowButton({ class: look, unread, disabled, onClick, children }: AllowProps) {
  return (
    <button
      type="button"
      class={look}
      disabled={disabled}
      // It stays reachable by the keyboard, so that a screen reader can say why it does not work.
      aria-disabled={unread !== null}
      aria-describedby={unread ?? undefined}
      onClick={(event) => {
        // The second click of a double click was meant for what stood there before.
        if (unread === null && event.detail < 2) onClick();
      }}
    >
      {children}
    </button>
  );
}
