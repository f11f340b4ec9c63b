import type { ComponentChildren } from "preact";

export interface Figure {
  label: string;
  value: ComponentChildren;
  unit?: string;
}

/** A row of key figures: what it is in small, how much in large. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="figures">
      {figures.map(({ label, value, unit }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value} {unit && <span class="unit">{unit}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
