// A line that opens: what is inside is made when it is first shown.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "./icons";

interface Props {
  /** The line; always visible. */
  summary: ComponentChildren;
  class?: string;
  isOpen?: boolean;
  children: () => ComponentChildren;
}

export function Disclosure({ summary, class: more = "", isOpen = false, children }: Props) {
  const [open, setOpen] = useState(isOpen);
  const id = useId();
  return (
    <div class={`disclosure ${more}`}>
      <button
        type="button"
        class="line"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {summary}
        <Icon name={open ? "chevronDown" : "chevronRight"} class="chevron" />
      </button>
      {open && (
        <div class="body" id={id}>
          {children()}
        </div>
      )}
    </div>
  );
}
