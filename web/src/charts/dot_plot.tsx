// Ratings as dots with their intervals on one axis, strongest first.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { components } from "../api";
import { count, elo, playerText } from "../parts/format";

type LadderPlayer = components["schemas"]["LadderPlayer"];

export function DotPlot({ players }: { players: readonly LadderPlayer[] }) {
  const low = Math.min(0, ...players.map((player) => player.low));
  const high = Math.max(0, ...players.map((player) => player.high));
  const ticks = niceTicks(low, high);
  const share = (value: number) => (value - low) / (high - low || 1);
  return (
    <table class="dots">
      <caption class="unseen">Ratings with 95 % intervals</caption>
      <thead>
        <tr>
          <th scope="col">Player</th>
          <th scope="col" class="number">
            Elo
          </th>
          <th scope="col" class="dots-axis">
            <span class="unseen">Interval</span>
            {ticks.map((tick) => (
              <At key={tick} class="dots-tick" left={share(tick)}>
                {elo(tick)}
              </At>
            ))}
          </th>
          <th scope="col" class="number dots-games">
            Games
          </th>
        </tr>
      </thead>
      <tbody>
        {players.map((player) => (
          <tr key={player.name}>
            <th scope="row">{playerText(player.name)}</th>
            <td class="number">{elo(player.elo)}</td>
            <td class="dots-axis">
              <span class="unseen">
                {elo(player.low)} to {elo(player.high)}
              </span>
              {ticks.map((tick) => (
                <At key={tick} class="dots-line" left={share(tick)} />
              ))}
              <At class="dots-bar" left={share(player.low)} width={share(player.high) - share(player.low)} />
              <At class="dots-dot" left={share(player.elo)} />
            </td>
            <td class="number dots-games">{count(player.num_games)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Something at a share of the axis. Set by script: the Content-Security-Policy allows no style attributes. */
function At(props: { class: string; left: number; width?: number; children?: string }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    place.current?.style.setProperty("left", `${100 * props.left}%`);
    if (props.width !== undefined) place.current?.style.setProperty("width", `${100 * props.width}%`);
  }, [props.left, props.width]);
  return (
    <span class={props.class} ref={place} aria-hidden="true">
      {props.children}
    </span>
  );
}

/** About three to six round values within the range. */
export function niceTicks(low: number, high: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / 6;
  const scale = 10 ** Math.floor(Math.log10(rough));
  const step = scale * ([1, 2, 5, 10].find((factor) => factor * scale >= rough) ?? 10);
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick || 0);
  return ticks;
}
