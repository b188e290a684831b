// Where the reader is in a conversation and what they opened, by names that outlive a redraw.
//
// What is scrolled out of sight is not drawn, and a panel that was hidden is drawn anew: both get
// from here how it looked.
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** A row by its name, and how far its top is above the top of what is seen. */
export interface Spot {
  row: string;
  offset: number;
}

/** What can be kept over a reload. */
export interface KeptPlace {
  /** Null: at the end, which is followed. */
  spot: Spot | null;
  /** What the reader opened or closed, by name. */
  open: Readonly<Record<string, boolean>>;
}

export class Place {
  #spot: Spot | null;
  readonly #open: Map<string, boolean>;
  readonly #onChange: (kept: KeptPlace) => void;

  /** `onChange` is called after each change with all that can be kept. */
  constructor(kept: KeptPlace | null = null, onChange: (kept: KeptPlace) => void = () => {}) {
    this.#spot = kept?.spot ?? null;
    this.#open = new Map(Object.entries(kept?.open ?? {}));
    this.#onChange = onChange;
  }

  get spot(): Spot | null {
    return this.#spot;
  }

  set spot(spot: Spot | null) {
    const was = this.#spot;
    if (was?.row === spot?.row && was?.offset === spot?.offset) return;
    this.#spot = spot;
    this.#onChange(this.kept);
  }

  get kept(): KeptPlace {
    return { spot: this.#spot, open: Object.fromEntries(this.#open) };
  }

  /** Whether something is open; undefined when the reader never said. */
  isOpen(name: string): boolean | undefined {
    return this.#open.get(name);
  }

  setOpen(name: string, isOpen: boolean): void {
    this.#open.set(name, isOpen);
    this.#onChange(this.kept);
  }
}

export const PlaceContext = createContext<Place>(new Place());

export const usePlace = () => useContext(PlaceContext);
