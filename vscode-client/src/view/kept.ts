// What the page keeps when it is hidden or reloaded: what was written, where the reader is in which session,
// and what they have opened there.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Drafts, NO_DRAFTS, restored } from "./drafts";

/** Where a reader is: so many pixels behind the top of an item. Heights are estimated before they
 * are drawn, so a distance from the beginning would be another place. */
export interface Reading {
  index: number;
  offset: number;
}

export interface Kept {
  drafts: Drafts;
  /** The session that `reading` is of. */
  sessionId: string;
  /** Null: at the end, where it stays. */
  reading: Reading | null;
  /** The names of what is open, such as a call's id. */
  open: readonly string[];
}

const NOTHING: Kept = { drafts: NO_DRAFTS, sessionId: "", reading: null, open: [] };
const MOST_OPEN = 200;
/** A scroll brings a hundred events a second. */
const SETTLE_MS = 100;

/** Where the editor keeps a page's state. */
export interface Place {
  getState(): unknown;
  setState(kept: Kept): void;
}

export class Keeper {
  readonly #place: Place | null;
  #kept: Kept;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Without a place it is kept as long as the page is there. */
  constructor(place: Place | null = null) {
    this.#place = place;
    const state: unknown = place?.getState();
    // An older version kept nothing but what was written.
    const isWhole = typeof state === "object" && state !== null && "drafts" in state;
    const before = isWhole ? (state as Partial<Kept>) : {};
    this.#kept = { ...NOTHING, ...before, drafts: restored(isWhole ? before.drafts : state) };
  }

  get drafts(): Drafts {
    return this.#kept.drafts;
  }

  keepDrafts(drafts: Drafts): void {
    this.#keep({ drafts });
    this.flush();
  }

  /** Where the reader was in a session; null: at its end. */
  reading(sessionId: string): Reading | null {
    return sessionId === this.#kept.sessionId ? this.#kept.reading : null;
  }

  keepReading(sessionId: string, reading: Reading | null): void {
    this.#keep({ sessionId, reading });
  }

  /** Says whether something was left open. */
  isOpen(name: string): boolean {
    return this.#kept.open.includes(name);
  }

  keepOpen(name: string, isOpen: boolean): void {
    const others = this.#kept.open.filter((one) => one !== name);
    this.#keep({ open: isOpen ? [...others, name].slice(-MOST_OPEN) : others });
  }

  /** Hand over now what waits to be kept. */
  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#place?.setState(this.#kept);
  }

  #keep(change: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...change };
    this.#timer ??= setTimeout(() => this.flush(), SETTLE_MS);
  }
}

export const KeptContext = createContext(new Keeper());

export const useKept = () => useContext(KeptContext);
