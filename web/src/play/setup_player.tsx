// Choosing an agent: shipped weights, a run at any step, a baseline; how long it may think, and how hard it is.
import { Choice, Field, Select } from "../parts/controls";
import { count } from "../parts/format";
import type { components } from "../api";
import type { PlayerLine } from "./seats";

type Seat = components["schemas"]["Seat"];
type Budget = "default" | "simulations" | "seconds";
type Difficulty = NonNullable<Seat["difficulty"]>;

export interface Chosen {
  readonly player: string;
  /** Of a run; empty: the newest. */
  readonly step: string;
  readonly budget: Budget;
  readonly amount: string;
  readonly difficulty: Difficulty;
}

const KINDS = { weights: "Shipped weights", run: "Runs", baseline: "Baselines" } as const;
const DIFFICULTIES: readonly { value: Difficulty; text: string }[] = [
  { value: "easy", text: "Easy" },
  { value: "medium", text: "Medium" },
  { value: "hard", text: "Hard" },
];
const MAX_SIMULATIONS = 20_000;
const MAX_SECONDS = 20;

/** The first opponent to propose: players come strongest kinds first. */
export function strongest(players: readonly PlayerLine[] | null): Chosen | null {
  const first = players?.[0];
  return first ? usually(first.text) : null;
}

/** A player as it is proposed. */
function usually(player: string): Chosen {
  return { player, step: "", budget: "default", amount: "", difficulty: "easy" };
}

export function seatOf({ player, step, budget, amount, difficulty }: Chosen): Seat {
  const named = step ? `${player}@${step}` : player;
  const value = Number(amount);
  const asked = difficulty === "easy" ? {} : { difficulty };
  if (budget === "simulations" && amount !== "") return { player: named, num_simulations: Math.round(value), ...asked };
  if (budget === "seconds" && amount !== "") return { player: named, seconds: value, ...asked };
  return { player: named, ...asked };
}

interface PlayerFieldsProps {
  label: string;
  players: readonly PlayerLine[];
  chosen: Chosen | null;
  onChange: (chosen: Chosen) => void;
}

export function PlayerFields({ label, players, chosen, onChange }: PlayerFieldsProps) {
  const line = players.find(({ text }) => text === chosen?.player);
  if (chosen === null || line === undefined) return null;
  const set = (change: Partial<Chosen>): void => onChange({ ...chosen, ...change });
  const usual = line.default_simulations === null ? "Usual" : `${count(line.default_simulations)} simulations`;
  return (
    <div class="setup-player">
      <div class="setup-row">
        <Select
          label={label}
          value={chosen.player}
          options={players.map(({ text, title, kind }) => ({ value: text, text: title, group: KINDS[kind] }))}
          onChange={(player) => onChange(usually(player))}
        />
        {line.steps.length > 0 && (
          <Select
            label="Weights"
            value={chosen.step}
            options={[
              { value: "", text: "Newest" },
              ...line.steps.map((step) => ({ value: String(step), text: `Step ${count(step)}` })),
            ]}
            onChange={(step) => set({ step })}
          />
        )}
      </div>
      {line.searches && (
        <div class="setup-strength">
          <Choice
            label={`Difficulty of ${label}`}
            title="Difficulty"
            value={chosen.difficulty}
            options={DIFFICULTIES}
            onChange={(difficulty) => set({ difficulty })}
          />
          <Choice
            label={`Search per move of ${label}`}
            title="Search per move"
            value={chosen.budget}
            options={[
              { value: "default", text: usual },
              { value: "simulations", text: "Other" },
              { value: "seconds", text: "By time" },
            ]}
            onChange={(budget) =>
              set({ budget, amount: budget === "seconds" ? "1" : String(line.default_simulations ?? 200) })
            }
          />
          {chosen.budget !== "default" && (
            <Field
              label={chosen.budget === "seconds" ? "Seconds per move" : "Simulations per move"}
              type="number"
              min={chosen.budget === "seconds" ? 0.1 : 0}
              max={chosen.budget === "seconds" ? MAX_SECONDS : MAX_SIMULATIONS}
              step={chosen.budget === "seconds" ? 0.1 : 1}
              value={chosen.amount}
              onInput={(amount) => set({ amount })}
            />
          )}
        </div>
      )}
    </div>
  );
}
