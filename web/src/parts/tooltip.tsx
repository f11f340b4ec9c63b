import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A term with its explanation, shown on hover and focus and read aloud with it. */
export function Tooltip({ text, children }: { text: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <span class="tooltip" tabIndex={0} aria-describedby={id}>
      {children}
      <span class="tooltip-text" role="tooltip" id={id}>
        {text}
      </span>
    </span>
  );
}
