import { useLayoutEffect, useRef } from "preact/hooks";

/** A share as a thin bar with its number. */
export function Meter({ label, share, text }: { label: string; share: number; text: string }) {
  const bar = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    bar.current?.style.setProperty("width", `${100 * Math.max(0, Math.min(1, share))}%`);
  }, [share]);
  return (
    <span class="meter" role="meter" aria-label={label} aria-valuenow={Math.round(100 * share)} aria-valuetext={text}>
      <span class="meter-track">
        <span class="meter-bar" ref={bar} />
      </span>
      <span class="meter-text">{text}</span>
    </span>
  );
}
