// How a turn of Beasty Bar is shown: its frames one after the other, and cards that glide from place to place.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { framesOf, type Frame } from "./beastybar_model";
import type { BeastyBarSeen, BoardProps } from "./board";

const FRAME_MS = 1500;
const GLIDE_MS = 450;

export function prefersStillness(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export interface Shown {
  /** The moment of the turn now shown; null at its end. */
  readonly frame: Frame | null;
  readonly isMoving: boolean;
  /** What happened in the last turn. */
  readonly sentences: readonly string[];
  readonly skip: () => void;
  /** Shows the last turn again; null where there is none to show. */
  readonly again: (() => void) | null;
}

/** Shows the frames of each new turn that follows what was shown before. */
export function useFrames({ seen, last, names, isLive }: BoardProps<BeastyBarSeen>): Shown {
  const [queue, setQueue] = useState<readonly Frame[]>([]);
  const shownBefore = useRef(seen);
  const before = last?.before ?? null;
  const frames = useMemo(() => (last && before ? framesOf(before, last.steps, names) : []), [last, before]);

  // Decided while drawing, so that the end of a turn is never seen before its steps.
  let waiting = queue;
  if (shownBefore.current !== seen) {
    const follows = before !== null && before === shownBefore.current && !prefersStillness();
    waiting = follows ? [...(isLive ? queue : []), ...frames] : [];
    shownBefore.current = seen;
    if (waiting !== queue) setQueue(waiting);
  }

  const frame = waiting[0] ?? null;
  useEffect(() => {
    if (frame === null) return;
    const timer = setTimeout(() => setQueue((rest) => rest.slice(1)), FRAME_MS);
    return () => clearTimeout(timer);
  }, [frame]);

  return {
    frame,
    isMoving: frame !== null,
    sentences: frames.map(({ text }) => text),
    skip: () => setQueue([]),
    again: frames.length > 0 && !prefersStillness() ? () => setQueue(frames) : null,
  };
}

/** Lets every element with `data-card` glide from where the card was before to where it is now. */
export function useGlide(frame: Frame | null): { current: HTMLDivElement | null } {
  const table = useRef<HTMLDivElement>(null);
  const places = useRef(new Map<string, DOMRect>());
  useLayoutEffect(() => {
    if (table.current === null) return;
    const sides = new Map<string, DOMRect>();
    for (const side of table.current.querySelectorAll<HTMLElement>("[data-side]")) {
      sides.set(side.dataset["side"] ?? "", side.getBoundingClientRect());
    }
    const now = new Map<string, DOMRect>();
    for (const element of table.current.querySelectorAll<HTMLElement>("[data-card]")) {
      const card = element.dataset["card"] ?? "";
      const rect = element.getBoundingClientRect();
      now.set(card, rect);
      const from = places.current.get(card) ?? (frame ? sides.get(card.slice(-1)) : undefined);
      if (from && !prefersStillness()) glide(element, from, rect);
    }
    places.current = now;
  });
  return table;
}

function glide(element: HTMLElement, from: DOMRect, to: DOMRect): void {
  const right = from.left + from.width / 2 - (to.left + to.width / 2);
  const down = from.top + from.height / 2 - (to.top + to.height / 2);
  if (Math.abs(right) + Math.abs(down) < 2) return;
  element.animate(
    [
      { transform: `translate(${right}px, ${down}px)`, zIndex: 2 },
      { transform: "none", zIndex: 2 },
    ],
    { duration: GLIDE_MS, easing: "cubic-bezier(0.3, 0, 0.2, 1)" },
  );
}
