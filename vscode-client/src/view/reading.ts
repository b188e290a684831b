// Where a reader is in a long list, and bringing them back there.
import type { Reading } from "./kept";

/** How often a place is put right while heights become known. */
const FRAMES = 3;

/** The item at the top of a box, and how far it is scrolled. */
export function readingOf(box: HTMLElement): Reading {
  const { children } = box;
  // The first item that is not wholly above; their ends go down the list.
  let [low, high] = [0, Math.max(0, children.length - 1)];
  const { top } = box.getBoundingClientRect();
  while (low < high) {
    const middle = (low + high) >> 1;
    const isAbove = (children[middle]?.getBoundingClientRect().bottom ?? 0) <= top;
    if (isAbove) low = middle + 1;
    else high = middle;
  }
  return { index: low, offset: top - (children[low]?.getBoundingClientRect().top ?? top) };
}

/** Scroll a box to where a reader was; once more when what is there has been drawn. */
export function bringBack(box: HTMLElement, reading: Reading, frames = FRAMES): void {
  const item = box.children[reading.index];
  if (!item) return;
  const now = box.getBoundingClientRect().top - item.getBoundingClientRect().top;
  box.scrollTop += reading.offset - now;
  if (frames > 0) requestAnimationFrame(() => bringBack(box, reading, frames - 1));
}
