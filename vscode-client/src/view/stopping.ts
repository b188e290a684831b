// Escape stops a turn only from an empty prompt, and only at its second press.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";

export interface Stopping {
  /** What the last Escape came to; empty when there is nothing to say. */
  hint: string;
  /** Takes a key of the prompt or of the stop button. */
  onKey: (event: KeyboardEvent) => void;
  /** The next Escape is a first one again. */
  calm: () => void;
}

const AGAIN = t("Esc again stops the agent");
const NOT_EMPTY = t("Esc stops the agent only from an empty prompt");

/** Tell what an Escape does. `turnId` is null while nothing can be stopped. */
export function useStopping(
  turnId: string | null,
  isEmpty: () => boolean,
  onStop: () => void,
): Stopping {
  const [hint, setHint] = useState("");
  // Two presses may come before the first one is drawn.
  const isNext = useRef(false);
  const calm = () => {
    isNext.current = false;
    setHint("");
  };
  useEffect(calm, [turnId]);
  const onKey = ({ key, repeat }: KeyboardEvent) => {
    if (key !== "Escape") {
      calm();
      return;
    }
    // A key that is held down is one press.
    if (turnId === null || repeat) return;
    const isStop = isNext.current && isEmpty();
    calm();
    if (isStop) {
      onStop();
      return;
    }
    isNext.current = isEmpty();
    setHint(isNext.current ? AGAIN : NOT_EMPTY);
  };
  return { hint, onKey, calm };
}
