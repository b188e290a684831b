// What the page keeps when it is hidden or reloaded: what was written, where the reader is in which
// session, and what they have opened there.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Drafts, NO_DRAFTS, restored } from "./drafts";
import { type KeptPlace, Place } from "./place";

export interface Kept {
  drafts: Drafts;
  /** The session that `place` is in. */
  sessionId: string;
  place: KeptPlace | null;
}

const NOTHING: Kept = { drafts: NO_DRAFTS, sessionId: "", place: null };
/** A scroll brings a hundred events a second. */
const SETTLE_MS = 100;

/** Where the editor keeps a page's state. */
export interface PageState {
  getState(): unknown;
  setState(kept: Kept): void;
}

export class Keeper {
  readonly #state: PageState | null;
  #kept: Kept;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Without a state of the editor's it is kept as long as the page is there. */
  constructor(state: PageState | null = null) {
    this.#state = state;
    const before: unknown = state?.getState();
    // An older version kept nothing but what was written.
    const isWhole = typeof before === "object" && before !== null && "drafts" in before;
    const kept = isWhole ? (before as Partial<Kept>) : {};
    this.#kept = { ...NOTHING, ...kept, drafts: restored(isWhole ? kept.drafts : before) };
  }

  get drafts(): Drafts {
    return this.#kept.drafts;
  }

  keepDrafts(drafts: Drafts): void {
    this.#keep({ drafts });
    this.flush();
  }

  /** Where the reader was in a session, which is kept from here on; a new one begins at its end. */
  placeOf(sessionId: string): Place {
    const kept = sessionId === this.#kept.sessionId ? this.#kept.place : null;
    return new Place(kept, (place) => this.#keep({ sessionId, place }));
  }

  /** Hand over now what waits to be kept. */
  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#state?.setState(this.#kept);
  }

  #keep(change: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...change };
    this.#timer ??= setTimeout(() => this.flush(), SETTLE_MS);
  }
}

export const KeptContext = createContext(new Keeper());

export const useKept = () => useContext(KeptContext);
