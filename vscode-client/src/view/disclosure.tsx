// A line that opens: what is inside is made when it is first shown.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "./icons";
import { useKept } from "./kept";

interface Props {
  /** The line; always visible. */
  summary: ComponentChildren;
  class?: string;
  isOpen?: boolean;
  /** Under which it is kept whether it is open; without one it is closed when the page comes back. */
  name?: string;
  children: () => ComponentChildren;
}

export function Disclosure({ summary, class: more = "", isOpen = false, name, children }: Props) {
  const kept = useKept();
  const [open, setOpen] = useState(isOpen || (name !== undefined && kept.isOpen(name)));
  const toggle = () => {
    setOpen(!open);
    if (name !== undefined) kept.keepOpen(name, !open);
  };
  const id = useId();
  return (
    <div class={`disclosure ${more}`}>
      <button
        type="button"
        class="line"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={toggle}
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
