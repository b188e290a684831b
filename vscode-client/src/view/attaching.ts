// The chips of the prompt that is being written: added by paste, drop, menus and completion.
import { useState } from "preact/hooks";
import type { Chip, Here, HereChoice } from "../messages";
import {
  dropped,
  imageChip,
  isAttachable,
  pasted,
  readImage,
  type Transferred,
  withChips,
} from "./attach";
import { effective } from "./chips";
import { usePost } from "./context";
import { contextual } from "./drafts";
import type { Keep, Known } from "./store";

export interface Attaching {
  here: Here | null;
  choice: HereChoice;
  chips: readonly Chip[];
  /** Why something could not be attached; empty: nothing was wrong. */
  problem: string;
  /** Something is dragged over the prompt. */
  isOver: boolean;
  onChoice: (choice: HereChoice) => void;
  add: (chip: Chip) => void;
  onRemove: (chip: Chip) => void;
  /** Backspace in an empty field takes the last chip away, else where the user is. */
  onKey: (event: KeyboardEvent) => boolean;
  /** What goes with the prompt that is sent now; its chips are gone then. */
  take: () => { chips?: readonly Chip[]; here?: HereChoice };
  onPaste: (event: ClipboardEvent) => void;
  drops: {
    onDragOver: (event: DragEvent) => void;
    onDragLeave: () => void;
    onDrop: (event: DragEvent) => void;
  };
}

type Wanted = Pick<Known, "here" | "drafts">;

export function useAttaching({ here, drafts: { context } }: Wanted, keep: Keep): Attaching {
  const post = usePost();
  const [isOver, setOver] = useState(false);
  const { chips } = context;
  const choice = here ? effective(context.choice, here) : context.choice;
  const change = (next: (chips: readonly Chip[]) => readonly Chip[]) =>
    keep((drafts) => contextual(drafts, { chips: next(drafts.context.chips), problem: "" }));
  const setProblem = (problem: string) => keep((drafts) => contextual(drafts, { problem }));
  const onChoice = (next: HereChoice) => keep((drafts) => contextual(drafts, { choice: next }));
  const receive = async ({ images, uris, problem: why }: Transferred) => {
    if (uris.length) post({ type: "drop", uris });
    for (const file of images) {
      try {
        const data = await readImage(file);
        const id = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
        post({ type: "image", id, data });
        change((now) => withChips(now, [imageChip(file, id, now)]));
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    }
    if (why) setProblem(why);
  };
  const isNothing = ({ images, uris, problem: why }: Transferred) =>
    !images.length && !uris.length && !why;
  return {
    here,
    choice,
    chips,
    problem: context.problem,
    isOver,
    onChoice,
    add: (chip) => change((now) => withChips(now, [chip])),
    onRemove: (chip) => change((now) => now.filter((one) => one !== chip)),
    onKey: (event) => {
      const isEmpty = !(event.currentTarget as HTMLTextAreaElement).value;
      // A key that is held down deletes words, and should end there.
      if (event.key !== "Backspace" || event.repeat || !isEmpty) return false;
      if (chips.length) change((now) => now.slice(0, -1));
      else if (here && choice !== "none") onChoice(choice === "selection" ? "file" : "none");
      else return false;
      return true;
    },
    take: () => {
      if (chips.length || context.problem) change(() => []);
      return { ...(chips.length && { chips }), ...(choice !== "selection" && { here: choice }) };
    },
    onPaste: (event) => {
      const found = event.clipboardData ? pasted(event.clipboardData) : null;
      if (!found || isNothing(found)) return;
      event.preventDefault();
      void receive(found);
    },
    drops: {
      onDragOver: (event) => {
        if (!event.dataTransfer || !isAttachable(event.dataTransfer)) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: () => setOver(false),
      onDrop: (event) => {
        setOver(false);
        if (!event.dataTransfer || !isAttachable(event.dataTransfer)) return;
        event.preventDefault();
        void receive(dropped(event.dataTransfer));
      },
    },
  };
}
