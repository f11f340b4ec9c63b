// The expected reward of the first player over the plies of a game; a click jumps to a ply.
import type { components } from "../api";
import { signed } from "../parts/format";

type Episode = components["schemas"]["EpisodeDetail"];

const WIDTH = 336;
const HEIGHT = 96;
const EDGE = 6;
/** A quiet game is not drawn as a wild one: the scale covers at least this share of the largest reward. */
const LEAST_SCALE = 0.25;

interface CurveProps {
  episode: Episode;
  at: number;
  show: (ply: number) => void;
  /** Of the first player. */
  name: string;
}

export function ValueCurve({ episode, at, show, name }: CurveProps) {
  const { plies, outcomes, reward_first_player: reward } = episode;
  const values = [...plies.map((ply) => ply.value_first_player), reward];
  const known = values.flatMap((value, ply) => (value === null ? [] : [{ ply, value }]));
  if (known.length < 2) return null;
  const largest = Math.max(...outcomes.map((outcome) => Math.abs(outcome.reward)));
  const scale = Math.max(LEAST_SCALE * largest, ...known.map(({ value }) => Math.abs(value)));
  const x = (ply: number): number => EDGE + (ply / Math.max(plies.length, 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number): number => HEIGHT / 2 - (value / scale) * (HEIGHT / 2 - EDGE);
  const line = known.map(({ ply, value }) => `${x(ply).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
  const [first, final] = [known[0]!, known[known.length - 1]!];
  const area = `M${x(first.ply)} ${y(0)}L${line}L${x(final.ply)} ${y(0)}Z`;
  const here = known.find(({ ply }) => ply === at);
  const jump = (event: MouseEvent & { currentTarget: SVGSVGElement }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * WIDTH - EDGE;
    show(Math.round((share / (WIDTH - 2 * EDGE)) * plies.length));
  };
  return (
    <figure class="curve">
      <figcaption>
        <span>Value for {name}</span>
        <strong>{here ? signed(here.value) : ""}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Value over ${plies.length} plies, from ${signed(first.value)} to ${signed(final.value)}`}
        onClick={jump}
      >
        <path class="curve-zero" d={`M${EDGE} ${HEIGHT / 2}H${WIDTH - EDGE}`} />
        <path class="curve-area" d={area} />
        <path class="curve-line" d={`M${line}`} />
        <path class="curve-here" d={`M${x(at)} ${EDGE}V${HEIGHT - EDGE}`} />
        {here && <circle class="curve-dot" cx={x(at)} cy={y(here.value)} r={4} />}
      </svg>
    </figure>
  );
}
