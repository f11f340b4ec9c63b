// The parts of a backgammon board: points with their checkers, bar, trays, dice, arrows of a hint.
import { BAR, OFF, checkersAt, fromOtherSide, pipCount, type CheckerMove, type Checkers } from "./backgammon_model";
import { other, type Player } from "./board";

const UNIT = 44;
const EDGE = 10;
const BAR_WIDTH = 48;
const TRAY_WIDTH = 52;
export const HEIGHT = 480;
const POINT_HEIGHT = 186;
const RADIUS = 19;
/** Checkers drawn on one point; of more, their number is written. */
const SHOWN = 5;
const LEFT = EDGE;
const BAR_X = LEFT + 6 * UNIT;
const RIGHT = BAR_X + BAR_WIDTH;
const TRAY_X = RIGHT + 6 * UNIT + 10;
export const WIDTH = TRAY_X + TRAY_WIDTH + EDGE;
const TOP = 22;
const BOTTOM = HEIGHT - 22;

const HALF = (BOTTOM - TOP) / 2 - 6;

/** What lies under points and checkers. */
export function Ground() {
  return (
    <g aria-hidden="true">
      <rect class="bg-frame" x={0} y={0} width={WIDTH} height={HEIGHT} rx={8} />
      <rect class="bg-half" x={LEFT} y={TOP} width={6 * UNIT} height={BOTTOM - TOP} />
      <rect class="bg-half" x={RIGHT} y={TOP} width={6 * UNIT} height={BOTTOM - TOP} />
      <rect class="bg-tray" x={TRAY_X} y={TOP} width={TRAY_WIDTH} height={HALF} rx={3} />
      <rect class="bg-tray" x={TRAY_X} y={HEIGHT / 2 + 6} width={TRAY_WIDTH} height={HALF} rx={3} />
    </g>
  );
}

interface OfBoard {
  checkers: Checkers;
  near: Player;
}

/** Both players' checkers on the bar, each on its own side of the middle. */
export function BarPlace({ checkers, near }: OfBoard) {
  const x = BAR_X + BAR_WIDTH / 2;
  const far = other(near);
  return (
    <>
      <rect class="place-area" x={BAR_X} y={TOP} width={BAR_WIDTH} height={BOTTOM - TOP} />
      <Stack x={x} y={HEIGHT / 2 + 50} down player={near} count={checkersAt(checkers, near, BAR)} />
      <Stack x={x} y={HEIGHT / 2 - 50} down={false} player={far} count={checkersAt(checkers, far, BAR)} />
    </>
  );
}

/** The near player's borne-off checkers. */
export function NearTray({ checkers, near }: OfBoard) {
  return (
    <>
      <rect class="place-area" x={TRAY_X} y={HEIGHT / 2 + 6} width={TRAY_WIDTH} height={HALF} rx={3} />
      <Tray y={BOTTOM - 4} up player={near} count={checkersAt(checkers, near, OFF)} />
    </>
  );
}

export function FarTray({ checkers, near }: OfBoard) {
  const far = other(near);
  return <Tray y={TOP + 4} up={false} player={far} count={checkersAt(checkers, far, OFF)} />;
}

/** The middle of a point of the near player's numbering. */
function pointX(place: number): number {
  const fromRight = place <= 12 ? place - 1 : 24 - place;
  const right = RIGHT + 6 * UNIT;
  return fromRight < 6 ? right - (fromRight + 0.5) * UNIT : BAR_X - (fromRight - 6 + 0.5) * UNIT;
}

export function Point({ place, checkers, near }: OfBoard & { place: number }) {
  const x = pointX(place);
  const isBottom = place <= 12;
  const base = isBottom ? BOTTOM : TOP;
  const tip = isBottom ? BOTTOM - POINT_HEIGHT : TOP + POINT_HEIGHT;
  const own = checkersAt(checkers, near, place);
  const theirs = checkersAt(checkers, other(near), fromOtherSide(place));
  return (
    <>
      <path
        class={`bg-point bg-point-${place % 2}`}
        d={`M${x - UNIT / 2 + 1} ${base}L${x} ${tip}L${x + UNIT / 2 - 1} ${base}Z`}
      />
      <rect class="place-area" x={x - UNIT / 2} y={Math.min(base, tip)} width={UNIT} height={POINT_HEIGHT} />
      <text class="board-coordinate bg-number" x={x} y={isBottom ? HEIGHT - 7 : 15} text-anchor="middle">
        {place}
      </text>
      <Stack
        x={x}
        y={isBottom ? base - RADIUS : base + RADIUS}
        down={!isBottom}
        player={own ? near : other(near)}
        count={own || theirs}
      />
    </>
  );
}

interface StackProps {
  x: number;
  y: number;
  down: boolean;
  player: Player;
  count: number;
}

/** Checkers from the edge inwards; beyond five the first one says how many there are. */
function Stack({ x, y, down, player, count }: StackProps) {
  const step = (down ? 1 : -1) * (RADIUS * 2 - 2);
  const shown = Math.min(count, SHOWN);
  return (
    <>
      {Array.from({ length: shown }, (_, index) => (
        <g key={index}>
          <circle class={`checker checker-${player}`} cx={x} cy={y + index * step} r={RADIUS} />
          <circle class={`checker-ring checker-ring-${player}`} cx={x} cy={y + index * step} r={RADIUS - 6} />
        </g>
      ))}
      {count > SHOWN && (
        <text class={`checker-count checker-count-${player}`} x={x} y={y + (shown - 1) * step + 5} text-anchor="middle">
          {count}
        </text>
      )}
    </>
  );
}

function Tray({ y, up, player, count }: { y: number; up: boolean; player: Player; count: number }) {
  const thickness = 12.4;
  return (
    <g>
      {Array.from({ length: count }, (_, index) => (
        <rect
          key={index}
          class={`checker checker-${player}`}
          x={TRAY_X + 4}
          y={up ? y - (index + 1) * thickness : y + index * thickness}
          width={TRAY_WIDTH - 8}
          height={thickness - 1.5}
          rx={2}
        />
      ))}
    </g>
  );
}

const PIPS: readonly (readonly [number, number][])[] = [
  [],
  [[0, 0]],
  [
    [-1, -1],
    [1, 1],
  ],
  [
    [-1, -1],
    [0, 0],
    [1, 1],
  ],
  [
    [-1, -1],
    [1, -1],
    [-1, 1],
    [1, 1],
  ],
  [
    [-1, -1],
    [1, -1],
    [0, 0],
    [-1, 1],
    [1, 1],
  ],
  [
    [-1, -1],
    [1, -1],
    [-1, 0],
    [1, 0],
    [-1, 1],
    [1, 1],
  ],
];

/** The dice; those already used are faint. */
export function Dice({
  rolled,
  left,
  isNear,
}: {
  rolled: readonly number[];
  left: readonly number[];
  isNear: boolean;
}) {
  const middle = isNear ? RIGHT + 3 * UNIT : LEFT + 3 * UNIT;
  const unused = [...left];
  const size = 36;
  const shown = rolled.map((die) => {
    const at = unused.indexOf(die);
    if (at >= 0) unused.splice(at, 1);
    return { die, isLeft: at >= 0 };
  });
  return (
    <g role="img" aria-label={rolled.length ? `Dice left: ${left.join(", ") || "none"}` : "No dice rolled"}>
      {shown.map(({ die, isLeft }, index) => {
        const x = middle + (index - (shown.length - 1) / 2) * (size + 10);
        return (
          <g key={index} class={isLeft ? "die" : "die is-used"}>
            <rect class="die-face" x={x - size / 2} y={HEIGHT / 2 - size / 2} width={size} height={size} rx={7} />
            {(PIPS[die] ?? []).map(([right, down]) => (
              <circle
                key={`${right},${down}`}
                class="die-pip"
                cx={x + right * 9.5}
                cy={HEIGHT / 2 + down * 9.5}
                r={3.4}
              />
            ))}
          </g>
        );
      })}
    </g>
  );
}

/** Where a hint moves checkers. */
export function Arrows({ moves, isNear }: { moves: readonly CheckerMove[]; isNear: boolean }) {
  const at = (place: number): [number, number] => {
    const shown = isNear ? place : fromOtherSide(place);
    if (shown === BAR) return [BAR_X + BAR_WIDTH / 2, HEIGHT / 2];
    if (shown === OFF) return [TRAY_X + TRAY_WIDTH / 2, isNear ? HEIGHT - 90 : 90];
    return [pointX(shown), shown <= 12 ? BOTTOM - 60 : TOP + 60];
  };
  return (
    <g class="bg-arrows" aria-hidden="true">
      {moves.map(({ from, to }, index) => {
        const [x1, y1] = at(from);
        const [x2, y2] = at(to);
        return (
          <g key={index}>
            <path class="bg-arrow" d={`M${x1} ${y1}Q${(x1 + x2) / 2} ${HEIGHT / 2} ${x2} ${y2}`} />
            <circle class="bg-arrow-end" cx={x2} cy={y2} r={7} />
          </g>
        );
      })}
    </g>
  );
}

interface SideProps {
  checkers: Checkers;
  player: Player;
  names: readonly [string, string];
  isToMove: boolean;
}

export function Side({ checkers, player, names, isToMove }: SideProps) {
  return (
    <div class={`bg-side${isToMove ? " is-to-move" : ""}`}>
      <svg class="bg-token" viewBox="0 0 20 20" aria-hidden="true">
        <circle class={`checker checker-${player}`} cx={10} cy={10} r={8.5} />
      </svg>
      <span class="bg-name">{names[player]}</span>
      <span class="bg-pips">
        {pipCount(checkers, player)} pips, {checkersAt(checkers, player, OFF)} off
      </span>
    </div>
  );
}
