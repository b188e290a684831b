// Up and down in an empty prompt walk through the earlier ones of the session.
import { useRef } from "preact/hooks";
import type { State } from "../fold/state";
import { withoutMentions } from "./chips";

/** What the user has said in a session, newest first, each once in a row. */
export function earlier({ items }: State): readonly string[] {
  const said: string[] = [];
  for (const one of items) {
    if (one.kind !== "user") continue;
    const text = withoutMentions(one.text, one.images);
    if (text && text !== said[0]) said.unshift(text);
  }
  return said;
}

/** How far a key goes back: 1, -1 for forth, 0 for another key or a cursor that has room to move. */
function steps(event: KeyboardEvent, { value, selectionStart, selectionEnd }: Place): number {
  const isPlain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  if (!isPlain || event.isComposing) return 0;
  if (event.key === "ArrowUp") return value.slice(0, selectionStart).includes("\n") ? 0 : 1;
  if (event.key === "ArrowDown") return value.slice(selectionEnd).includes("\n") ? 0 : -1;
  return 0;
}

type Place = Pick<HTMLTextAreaElement, "value" | "selectionStart" | "selectionEnd">;

/** Returns what takes a key of the field, and says whether it moved through the prompts. */
export function useHistory(
  session: State,
  onText: (text: string) => void,
): (event: KeyboardEvent) => boolean {
  /** Which earlier prompt stands in the field; -1: none. */
  const at = useRef(-1);
  return (event) => {
    const area = event.currentTarget as HTMLTextAreaElement;
    const by = steps(event, area);
    if (!by) return false;
    const said = earlier(session);
    // What was changed is the user's own.
    if (area.value !== said[at.current]) at.current = -1;
    if (at.current < 0 && area.value) return false;
    const next = at.current + by;
    if (next < -1 || next >= said.length) return at.current >= 0;
    at.current = next;
    const text = said[next] ?? "";
    event.preventDefault();
    area.value = text;
    onText(text);
    area.setSelectionRange(text.length, text.length);
    return true;
  };
}
