// Who stands how: the probability of each outcome as one bar, and what a search thinks of the moves.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Player } from "../boards/board";
import { count, percent, signed } from "../parts/format";
import type { Analysis, Outcome } from "./seats";

const TOP_MOVES = 6;

export interface Chances {
  readonly win: number;
  readonly draw: number;
  readonly loss: number;
}

/** Outcomes for the player to move, summed up for `near`. */
export function chancesFor(
  near: Player,
  mover: Player,
  outcomesToMove: Readonly<Record<string, number>>,
  outcomes: readonly Outcome[],
): Chances {
  const sum = (isOf: (reward: number) => boolean): number =>
    outcomes.filter(({ reward }) => isOf(reward)).reduce((total, { name }) => total + (outcomesToMove[name] ?? 0), 0);
  const better = sum((reward) => reward > 0);
  const worse = sum((reward) => reward < 0);
  const draw = sum((reward) => reward === 0);
  return near === mover ? { win: better, draw, loss: worse } : { win: worse, draw, loss: better };
}

/** A part of a bar whose width is a share of it. */
function Part({ share, kind }: { share: number; kind: string }) {
  const part = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => part.current?.style.setProperty("width", `${100 * share}%`), [share]);
  return <span ref={part} class={`chances-part chances-${kind}`} />;
}

interface BarProps {
  chances: Chances | null;
  names: readonly [string, string];
  near: Player;
}

/** The near player's chances from the left. */
export function ChancesBar({ chances, names, near }: BarProps) {
  const far = near === 0 ? 1 : 0;
  const text = chances
    ? `${names[near]} ${percent(chances.win)}, draw ${percent(chances.draw)}, ${names[far]} ${percent(chances.loss)}`
    : "not known yet";
  return (
    <div class="chances" role="img" aria-label={`Winning chances: ${text}`}>
      <p class="chances-names" aria-hidden="true">
        <span>
          {names[near]} {chances && <strong>{percent(chances.win)}</strong>}
        </span>
        {chances && chances.draw >= 0.005 && <span>draw {percent(chances.draw)}</span>}
        <span>
          {chances && <strong>{percent(chances.loss)}</strong>} {names[far]}
        </span>
      </p>
      <div class="chances-bar" aria-hidden="true">
        {chances && (
          <>
            <Part share={chances.win} kind="win" />
            <Part share={chances.draw} kind="draw" />
            <Part share={chances.loss} kind="loss" />
          </>
        )}
      </div>
    </div>
  );
}

/** A thin bar behind a number. */
export function ShareBar({ share }: { share: number }) {
  const bar = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => bar.current?.style.setProperty("width", `${100 * Math.min(share, 1)}%`), [share]);
  return (
    <span class="share-bar" aria-hidden="true">
      <span ref={bar} />
    </span>
  );
}

interface ThoughtsProps {
  analysis: Analysis;
  /** A move's text for people. */
  textOf: (text: string) => string;
  /** The action that was played here. */
  played?: number | null;
}

/** The top moves with visits, values and the principal line. */
export function Thoughts({ analysis, textOf, played = null }: ThoughtsProps) {
  const visited = analysis.actions.filter(({ visits, policy }) => visits > 0 || policy > 0);
  const most = Math.max(...analysis.actions.map(({ policy }) => policy), 1e-9);
  const hasPriors = analysis.actions.some(({ prior }) => prior > 0);
  return (
    <div class="thoughts">
      <table class="thoughts-table">
        <caption class="unseen">Top moves of the search</caption>
        <thead>
          <tr>
            <th scope="col">Move</th>
            <th scope="col">Policy</th>
            {hasPriors && <th scope="col">Prior</th>}
            <th scope="col">Visits</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {visited.slice(0, TOP_MOVES).map((each) => (
            <tr key={each.action} class={each.action === played ? "is-played" : ""}>
              <th scope="row">
                {textOf(each.text)}
                <ShareBar share={each.policy / most} />
              </th>
              <td>{percent(each.policy)}</td>
              {hasPriors && <td>{percent(each.prior)}</td>}
              <td>{count(each.visits)}</td>
              <td>{each.value_to_move === null ? "–" : signed(each.value_to_move)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="thoughts-note">
        {count(analysis.num_simulations)} simulations by {analysis.player_title}
        {analysis.proof ? `; proven: ${analysis.proof}` : `, depth ${analysis.depth}`}. Values are for the player to
        move.
      </p>
      {analysis.principal_variation.length > 1 && (
        <p class="thoughts-line">
          <span>Principal line</span> {analysis.principal_variation.slice(0, 10).join(" ")}
        </p>
      )}
    </div>
  );
}
