// Keyboard use of a board: one of its places takes part in the tab order, arrow keys move among them.
import { useRef, useState } from "preact/hooks";

export interface Roving {
  /** The place that Tab reaches. */
  readonly at: number;
  /** Attributes of the place number `index`. */
  readonly place: (index: number) => {
    tabIndex: number;
    ref: (element: SVGElement | HTMLElement | null) => void;
    onFocus: () => void;
  };
  readonly focus: (index: number) => void;
}

export function useRoving(first: number): Roving {
  const [at, setAt] = useState(first);
  const places = useRef(new Map<number, SVGElement | HTMLElement>());
  return {
    at,
    place: (index) => ({
      tabIndex: index === at ? 0 : -1,
      ref: (element) => {
        if (element === null) places.current.delete(index);
        else places.current.set(index, element);
      },
      onFocus: () => setAt(index),
    }),
    focus: (index) => {
      setAt(index);
      places.current.get(index)?.focus();
    },
  };
}

/** Enter and the space bar press what is focused. */
export function isPress(event: KeyboardEvent): boolean {
  return event.key === "Enter" || event.key === " ";
}
