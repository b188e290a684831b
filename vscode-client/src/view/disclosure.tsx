// A line that opens: what is inside is made when it is first shown.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "./icons";
import { usePlace } from "./place";

interface Props {
  /** The line; always visible. Given a function, it is told whether the rest is. */
  summary: ComponentChildren | ((isOpen: boolean) => ComponentChildren);
  class?: string;
  isOpen?: boolean;
  /** Keeps it open while it is scrolled out of sight, and over a reload. */
  name?: string;
  children: () => ComponentChildren;
}

export function Disclosure({ summary, class: more = "", isOpen = false, name, children }: Props) {
  const place = usePlace();
  const [open, setOpen] = useState((name === undefined ? undefined : place.isOpen(name)) ?? isOpen);
  const id = useId();
  return (
    <div class={`disclosure ${more}`}>
      <button
        type="button"
        class="line"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => {
          setOpen(!open);
          if (name) place.setOpen(name, !open);
        }}
      >
        {typeof summary === "function" ? summary(open) : summary}
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
