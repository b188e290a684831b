// What the field of the prompt can beside taking words: attachments, completion, earlier prompts.
import type { RefObject } from "preact";
import { type Attaching, useAttaching } from "./attaching";
import { type Completion, useCompletion } from "./completion";
import type { FieldExtra } from "./field";
import { useHistory } from "./history";
import type { Keep, Known } from "./store";

interface Wanted {
  known: Known;
  keep: Keep;
  box: RefObject<HTMLTextAreaElement | null>;
  onText: (text: string) => void;
}

interface Extras {
  attaching: Attaching;
  completion: Completion;
  field: FieldExtra;
}

export function useExtras({ known, keep, box, onText }: Wanted): Extras {
  const attaching = useAttaching(known, keep);
  const completion = useCompletion({
    box,
    completed: known.completed,
    onText,
    onChip: attaching.add,
  });
  const onHistory = useHistory(known.session, onText);
  const field = {
    attributes: completion.attributes,
    onLook: completion.look,
    onLeave: completion.close,
    onPaste: attaching.onPaste,
    onKey: (event: KeyboardEvent) =>
      completion.onKey(event) || onHistory(event) || attaching.onKey(event),
  };
  return { attaching, completion, field };
}
