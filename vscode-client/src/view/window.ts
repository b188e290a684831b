// Which rows of a long list are drawn: those in sight, a few around them, and the one in focus.
//
// The rows stand in the normal flow, with empty space in the place of those that are not drawn, so
// that a row that grows never covers the next one.
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type Range,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { Spot } from "./place";

/** How many rows are drawn above and below those in sight. */
const OVERSCAN = 8;
/** Assumed where nothing is laid out, as in a panel that is hidden. */
const USUAL_HEIGHT_PX = 600;

interface Options {
  box: RefObject<HTMLDivElement | null>;
  /** The rows' names, each once. */
  names: readonly string[];
  estimate: (index: number) => number;
  /** Where to begin; null: at the end. */
  spot: Spot | null;
}

export interface Window {
  /** The rows to draw, in order. */
  items: readonly VirtualItem[];
  /** The height of all rows. */
  total: number;
  /** The ref of each row, which has its index in `data-index`. */
  measure: (row: Element | null) => void;
  /** The row at the top of what is seen. */
  spotAt: (top: number) => Spot | null;
  /** Where the top is when that spot is seen again, as far as rows are measured; null: not there. */
  topOf: (spot: Spot) => number | null;
}

type List = Virtualizer<HTMLDivElement, Element>;

/** The window over the rows in a box that scrolls. */
export function useWindow({ box, names, estimate, spot }: Options): Window {
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const list = useRef<List | null>(null);
  const known = useRef<{ names: readonly string[]; keyOf: (index: number) => string }>(null);
  if (!known.current || !isSame(known.current.names, names)) {
    // Another function makes the list measure anew, which a growing answer must not.
    known.current = { names, keyOf: (index) => names[index] ?? "" };
  }
  const options: ConstructorParameters<typeof Virtualizer<HTMLDivElement, Element>>[0] = {
    count: names.length,
    getScrollElement: () => box.current,
    getItemKey: known.current.keyOf,
    estimateSize: estimate,
    overscan: OVERSCAN,
    initialRect: { width: 0, height: USUAL_HEIGHT_PX },
    initialOffset: () => offsetOf(spot, names, estimate),
    rangeExtractor: (range) => withFocus(range, box.current),
    scrollToFn: elementScroll,
    observeElementOffset,
    observeElementRect: (instance, tell) =>
      observeElementRect(instance, ({ width, height }) =>
        tell({ width, height: height || USUAL_HEIGHT_PX }),
      ),
    onChange: () => redraw(0),
  };
  list.current ??= new Virtualizer(options);
  const now = list.current;
  now.setOptions(options);
  useLayoutEffect(() => now._didMount(), [now]);
  useLayoutEffect(() => now._willUpdate());
  return {
    items: now.getVirtualItems(),
    total: now.getTotalSize(),
    measure: now.measureElement,
    spotAt: (top) => {
      const item = now.getVirtualItemForOffset(top);
      return item ? { row: String(item.key), offset: Math.round(top - item.start) } : null;
    },
    topOf: ({ row, offset }) => {
      const item = now.measurementsCache[names.indexOf(row)];
      return item ? item.start + offset : null;
    },
  };
}

function isSame(before: readonly string[], names: readonly string[]): boolean {
  return before.length === names.length && before.every((one, index) => one === names[index]);
}

/** Where a spot is before anything was measured; beyond the end when it is not there. */
function offsetOf(
  spot: Spot | null,
  names: readonly string[],
  estimate: (index: number) => number,
): number {
  const at = spot ? names.indexOf(spot.row) : -1;
  const rows = at < 0 ? names.length : at;
  let offset = at < 0 ? 0 : (spot?.offset ?? 0);
  for (let index = 0; index < rows; index += 1) offset += estimate(index);
  return offset;
}

function withFocus(range: Range, box: HTMLDivElement | null): number[] {
  const shown = defaultRangeExtractor(range);
  const row = box?.querySelector(":scope > .entry:focus-within");
  const index = Number(row?.getAttribute("data-index") ?? -1);
  if (index < 0 || index >= range.count || shown.includes(index)) return shown;
  return [...shown, index].sort((one, other) => one - other);
}
