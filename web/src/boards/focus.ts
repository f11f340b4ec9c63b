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

/** `numPlaces` may shrink; then the last place takes the part of one that is gone. */
export function useRoving(first: number, numPlaces = Number.POSITIVE_INFINITY): Roving {
  const [wanted, setAt] = useState(first);
  const at = Math.min(wanted, numPlaces - 1);
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
