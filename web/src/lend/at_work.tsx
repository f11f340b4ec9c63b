// A browser that lends, or could: start, pause, stop; what it does now; how much it may; what it has given.
import { useEffect, useState } from "preact/hooks";
import { StillBoard } from "../boards";
import { ApiError, remove, useGet } from "../client";
import { Badge } from "../parts/badge";
import { Button } from "../parts/controls";
import { Figures } from "../parts/figures";
import { bytes, count, duration, percent, plural, short, ago } from "../parts/format";
import { ErrorNote, Section, sentence } from "../parts/page";
import { Table, type Column } from "../parts/table";
import type { components } from "../api";
import { forgetAll, lender, useLent, type Lent } from "./lender";
import { Limits } from "./limits";
import { StoredHere } from "./sign_up";
import type { LendState, Phase } from "./state";
import { useEvery, type LendStatus } from "./tabs";

type Account = components["schemas"]["LendAccount"];
type Device = Account["devices"][number];

interface AtWorkProps {
  status: LendStatus;
  token: string;
  onForgotten: () => void;
}

const PHASES: Readonly<Record<Phase, string>> = {
  starting: "starting",
  connecting: "connecting",
  waiting: "waiting for games",
  playing: "playing",
  paused: "paused",
  refused: "refused",
  failed: "failed",
  stopped: "stopped",
};

export function AtWork({ status, token, onForgotten }: AtWorkProps) {
  const lent = useLent();
  const account = useGet("/api/v1/lend/me", { token });
  useEvery(10, account.reload);
  const { client, startedAt } = lent;
  const isOn = startedAt !== null;
  const isBad = client.phase === "refused" || client.phase === "failed";
  return (
    <>
      <Section
        title="This browser"
        controls={
          <div class="controls">
            {!isOn && (
              <Button tone="main" onClick={() => lender.start(token, status.socket)}>
                Start
              </Button>
            )}
            {isOn && (lent.pauseReason === "" || lent.isPausedByPerson) && (
              <Button onClick={() => lender.pause(!lent.isPausedByPerson)}>
                {lent.isPausedByPerson ? "Resume" : "Pause"}
              </Button>
            )}
            {isOn && <Button onClick={() => lender.stop()}>Stop</Button>}
          </div>
        }
      >
        <div class="table-side">
          <Watched client={client} />
          <div class="table-aside">
            <p class="lend-phase" role="status">
              <Badge tone={isBad ? "alert" : client.phase === "playing" ? "live" : "plain"}>
                {PHASES[client.phase]}
              </Badge>{" "}
              {client.note !== "" && <span class={isBad ? "" : "soft"}>{sentence(client.note)}</span>}
            </p>
            <Now lent={lent} />
            <Limits lent={lent} status={status} />
          </div>
        </div>
      </Section>
      <Section title="Your contribution">
        {account.error && <ErrorNote error={account.error} />}
        {account.data && <Contribution account={account.data} />}
      </Section>
      <YourAccount token={token} onForgotten={onForgotten} />
    </>
  );
}

/** One of the games as it stands, on its board. */
function Watched({ client }: { client: LendState }) {
  const { watched } = client;
  if (watched === null) {
    return (
      <div class="lend-no-game">
        <p class="soft">One of the games is shown here while it is played.</p>
      </div>
    );
  }
  const options = Object.fromEntries(Object.entries(watched.options).map(([name, value]) => [name, String(value)]));
  return (
    <div class="table-board">
      <StillBoard game={watched.game} options={options} seen={watched.seen} toMove={watched.toMove} />
    </div>
  );
}

/** Over the last minute, or since the start. */
function Now({ lent }: { lent: Lent }) {
  const { client, startedAt } = lent;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (startedAt === null) return setSamples([]);
    setSamples((last) => [...last.filter(({ at }) => at > now - 60_000), { at: now, client }]);
  }, [now, startedAt]);
  const first = samples[0];
  const seconds = first ? (now - first.at) / 1000 : 0;
  const perSecond = (of: (client: LendState) => number): string =>
    first && seconds >= 1 ? short((of(client) - of(first.client)) / seconds) : "–";
  const share = client.workSeconds > 0 ? percent(client.inferenceSeconds / client.workSeconds) : "–";
  const gpu = client.backend === "webgpu" ? "WebGPU" : client.backend === "wasm" ? "WebAssembly" : "–";
  return (
    <Figures
      figures={[
        { label: "Uptime", value: startedAt === null ? "–" : duration((now - startedAt) / 1000) },
        { label: "Games/s", value: perSecond((each) => each.numFinished) },
        { label: "Simulations/s", value: perSecond((each) => each.simulations) },
        { label: "Time in inference", value: share },
        { label: "Games accepted", value: count(client.numAccepted), unit: waitingText(client) },
        { label: "Network", value: gpu, unit: client.version === null ? "" : `weights ${client.version}` },
      ]}
    />
  );
}

interface Sample {
  at: number;
  client: LendState;
}

function waitingText({ numWaiting, numRefused }: LendState): string {
  return [`${count(numWaiting)} to be sent`, ...(numRefused > 0 ? [`${count(numRefused)} refused`] : [])].join(", ");
}

function Contribution({ account }: { account: Account }) {
  const columns: Column<Device>[] = [
    { title: "Device", isHead: true, cell: ({ device }) => device },
    { title: "Network", cell: ({ backend }) => (backend === "webgpu" ? "WebGPU" : "WebAssembly") },
    { title: "Games", isNumber: true, cell: ({ num_games }) => count(num_games) },
    { title: "Samples", isNumber: true, cell: ({ num_samples }) => count(num_samples) },
    { title: "Last seen", cell: ({ last_seen }) => ago(Date.now() / 1000 - last_seen) },
  ];
  return (
    <>
      {account.state !== "active" && (
        <p class="note note-alert" role="alert">
          This account is {account.state}. {account.reason !== "" && sentence(account.reason)}
        </p>
      )}
      <Figures
        figures={[
          { label: "Games", value: count(account.num_games) },
          { label: "Samples", value: count(account.num_samples) },
          { label: "Simulations", value: short(account.num_simulations) },
          {
            label: "Reliability",
            value: percent(account.reliability),
            unit: `${plural(account.num_unreturned, "game")} not returned`,
          },
          { label: "Rank", value: account.rank === null ? "–" : count(account.rank) },
        ]}
      />
      {account.devices.length > 0 && (
        <div class="lend-devices">
          <Table caption="Your devices" columns={columns} rows={account.devices} rowKey={({ device }) => device} />
        </div>
      )}
    </>
  );
}

function YourAccount({ token, onForgotten }: { token: string; onForgotten: () => void }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isSure, setSure] = useState(false);
  const used = useStorage();
  const forget = async (): Promise<void> => {
    lender.stop();
    await forgetAll();
    onForgotten();
  };
  const deleteAccount = async (): Promise<void> => {
    try {
      await remove("/api/v1/lend/me", { token });
      await forget();
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
    }
  };
  return (
    <Section title="Your account">
      <StoredHere />
      {used !== null && used > 0 && <p class="section-note">It takes {bytes(used)} now.</p>}
      <details class="lend-more">
        <summary>Token, for your other devices</summary>
        <p class="section-note">Whoever has it plays in your name.</p>
        <code class="command">{token}</code>
      </details>
      {error && <ErrorNote error={error} />}
      <div class="controls lend-account">
        <Button onClick={() => void forget()}>Forget on this browser</Button>
        {isSure ? (
          <>
            <Button tone="main" onClick={() => void deleteAccount()}>
              Delete it for good
            </Button>
            <Button tone="quiet" onClick={() => setSure(false)}>
              Keep it
            </Button>
          </>
        ) : (
          <Button onClick={() => setSure(true)}>Delete account</Button>
        )}
      </div>
    </Section>
  );
}

function useStorage(): number | null {
  const [used, setUsed] = useState<number | null>(null);
  useEffect(() => {
    navigator.storage?.estimate?.().then(
      ({ usage }) => setUsed(usage ?? null),
      () => undefined,
    );
  }, []);
  return used;
}
