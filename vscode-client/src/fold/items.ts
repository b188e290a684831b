// Changing the list of items without changing it in place; and the short names of updates.
import type { Update } from "../wire";
import type { Item, Keyed, State } from "./state";

export type Kind = Update["sessionUpdate"];
export type Of<K extends Kind> = Extract<Update, { sessionUpdate: K }>;

// The distributive form keeps the union's members apart when the key is left out.
export type Unkeyed<T> = T extends Keyed ? Omit<T, "key"> : never;

/** The state with one more item at its end. */
export function add(state: State, item: Unkeyed<Item>): State {
  const keyed = { ...item, key: state.nextKey };
  return { ...state, items: [...state.items, keyed], nextKey: state.nextKey + 1 };
}

/** The state with another item in one place. */
export function replace(state: State, index: number, item: Item): State {
  const items = state.items.slice();
  items[index] = item;
  return { ...state, items };
}
