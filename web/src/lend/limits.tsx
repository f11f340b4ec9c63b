// What this browser may use: sliders within what device and run allow.
import { useEffect, useState } from "preact/hooks";
import { Slider, Switch } from "../parts/controls";
import { count } from "../parts/format";
import { hasWebGpu } from "./power";
import { lender, mostWorkers, type Lent } from "./lender";
import type { LendStatus } from "./tabs";

export function Limits({ lent, status }: { lent: Lent; status: LendStatus }) {
  const { choice, startedAt } = lent;
  const limits = status.lent?.limits;
  const [canUseGpu, setCanUseGpu] = useState(false);
  useEffect(() => void hasWebGpu().then(setCanUseGpu), []);
  const mostBatch = Math.max(1, Math.floor((limits?.max_games_at_once ?? 16) / choice.numWorkers));
  const simulations = choice.simulations ?? limits?.max_simulations ?? 0;
  const percentOf = (value: number): string => `${value} %`;
  return (
    <div class="lend-limits" role="group" aria-label="Limits">
      <Slider
        label="CPU"
        value={choice.duty.cpu}
        text={percentOf(choice.duty.cpu)}
        min={5}
        max={100}
        step={5}
        note="Of the time of each worker."
        onChange={(cpu) => lender.choose({ duty: { ...choice.duty, cpu } })}
      />
      {canUseGpu && (
        <Slider
          label="GPU"
          value={choice.duty.gpu}
          text={choice.duty.gpu === 0 ? "not used" : percentOf(choice.duty.gpu)}
          min={0}
          max={100}
          step={5}
          note="A share of time: a page cannot read how busy a GPU is."
          onChange={(gpu) => lender.choose({ duty: { ...choice.duty, gpu } })}
        />
      )}
      <Slider
        label="Workers"
        value={choice.numWorkers}
        text={count(choice.numWorkers)}
        min={1}
        max={mostWorkers}
        note={startedAt === null ? "Each uses a core." : "Each uses a core. Counts from the next start on."}
        onChange={(numWorkers) => lender.choose({ numWorkers })}
      />
      <Slider
        label="Batch"
        value={Math.min(choice.batch, mostBatch)}
        text={`${count(Math.min(choice.batch, mostBatch))} games at once`}
        min={1}
        max={mostBatch}
        isDisabled={mostBatch === 1}
        onChange={(batch) => lender.choose({ batch })}
      />
      {limits && (
        <Slider
          label="Simulations"
          value={simulations}
          text={count(simulations)}
          min={limits.min_simulations}
          max={limits.max_simulations}
          isDisabled={limits.min_simulations >= limits.max_simulations}
          note={limits.min_simulations >= limits.max_simulations ? "This run lets nobody choose." : ""}
          onChange={(value) => lender.choose({ simulations: value === limits.max_simulations ? null : value })}
        />
      )}
      <Switch
        label="Pause on battery"
        isOn={choice.pausesOnBattery}
        onChange={(pausesOnBattery) => lender.choose({ pausesOnBattery })}
      />
      <Switch
        label="Pause on a metered link"
        isOn={choice.pausesOnMetered}
        onChange={(pausesOnMetered) => lender.choose({ pausesOnMetered })}
      />
    </div>
  );
}
