// The page that plays without a server: any server of files can hold it. Core, network and game are in the tab.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AnyBoard } from "../boards";
import { YOU, other, type Player } from "../boards/board";
import { cores } from "../core/builds";
import { moduleName } from "../core/core.js";
import { Button, Choice, Select, Slider } from "../parts/controls";
import { count, duration } from "../parts/format";
import { Loading, PageHead, sentence } from "../parts/page";
import { ChancesBar } from "../play/chances";
import { MovesList } from "../play/moves_list";
import type { FromThinker, TabView, Thought, ToThinker } from "./thinker";
import "../play/play.css";

const AGENT = "zerofleet";

/** Games with shipped weights, and the folder that has them. */
const games = [
  { value: "connect4", text: "Connect Four", game: "connect4", options: {} },
  { value: "gomoku-15", text: "Gomoku", game: "gomoku", options: { size: "15" } },
  { value: "gomoku-9", text: "Gomoku, 9 × 9", game: "gomoku", options: { size: "9" } },
  { value: "backgammon", text: "Backgammon", game: "backgammon", options: {} },
  { value: "beastybar", text: "Beasty Bar", game: "beastybar", options: {} },
] as const;
type Name = (typeof games)[number]["value"];

interface Chosen {
  name: Name;
  person: Player;
}

function TabPage() {
  const [chosen, setChosen] = useState<Chosen>({ name: "connect4", person: 0 });
  const [number, setNumber] = useState(0);
  const [simulations, setSimulations] = useState(100);
  const choose = (change: Partial<Chosen>): void => {
    setChosen({ ...chosen, ...change });
    setNumber(number + 1);
  };
  return (
    <main class="main" id="main">
      <PageHead title="Play here" below="The agent thinks in this tab. Nothing is sent anywhere.">
        <div class="controls">
          <Select label="Game" value={chosen.name} options={games} onChange={(name) => choose({ name })} />
        </div>
      </PageHead>
      <TabGame key={number} chosen={chosen} simulations={simulations}>
        <Choice
          label="Who begins"
          value={String(chosen.person)}
          options={[
            { value: "0", text: "You begin" },
            { value: "1", text: "You are second" },
          ]}
          onChange={(person) => choose({ person: person === "0" ? 0 : 1 })}
        />
        <Slider
          label="Simulations per move"
          value={simulations}
          text={count(simulations)}
          min={10}
          max={1000}
          step={10}
          onChange={setSimulations}
        />
        <Button onClick={() => choose({})}>New game</Button>
      </TabGame>
    </main>
  );
}

interface GameProps {
  chosen: Chosen;
  simulations: number;
  children: preact.ComponentChildren;
}

function TabGame({ chosen, simulations, children }: GameProps) {
  const { name, person } = chosen;
  const { game, options, text } = games.find(({ value }) => value === name)!;
  const [view, setView] = useState<TabView | null>(null);
  const [thought, setThought] = useState<Thought | null>(null);
  const [fault, setFault] = useState("");
  const [isThinking, setThinking] = useState(false);
  const worker = useRef<Worker | null>(null);
  const ask = (message: ToThinker): void => worker.current?.postMessage(message);

  useEffect(() => {
    const started = new Worker(new URL("./thinker.ts", import.meta.url), { type: "module" });
    worker.current = started;
    started.onmessage = ({ data }: MessageEvent<FromThinker>) => {
      setThinking(false);
      if (data.type === "fault") return setFault(data.message);
      setView(data.view);
      if (data.thought !== null) setThought(data.thought);
    };
    started.onerror = ({ message }) => setFault(message || "The worker could not be started.");
    const folder = new URL(`weights/${name}/`, document.baseURI);
    // ONNX Runtime needs SIMD; without it the agent plays by random playouts.
    const hasSimd = moduleName() === "zerofleet.wasm";
    const weights = { graph: new URL("graph.onnx", folder).href, tensors: new URL("weights.safetensors", folder).href };
    const core = cores[moduleName()];
    if (!core) return setFault("The page was built without the core: make wasm, then make web.");
    const numThreads = Math.min(4, navigator.hardwareConcurrency || 1);
    ask({ type: "start", start: { core, game, options, person, weights: hasSimd ? weights : null, numThreads } });
    return () => started.terminate();
  }, []);

  const isAgentToMove = view !== null && view.toMove === other(person);
  useEffect(() => {
    if (!isAgentToMove) return;
    setThinking(true);
    ask({ type: "think", simulations });
  }, [view]);

  const names: [string, string] = person === 0 ? [YOU, AGENT] : [AGENT, YOU];
  return (
    <div class="table-side">
      <div class="table-board">
        {view === null ? (
          fault === "" && <Loading />
        ) : (
          <AnyBoard
            game={game}
            options={options}
            seen={view.seen}
            toMove={view.toMove}
            near={person}
            names={names}
            legal={view.legal}
            legalTurns={view.legalTurns}
            last={view.last}
            heat={null}
            hint={[]}
            onPlay={view.toMove === person ? (actions) => ask({ type: "act", actions }) : null}
            isLive
          />
        )}
      </div>
      <div class="table-aside">
        <p class="standing" role="status">
          {view === null ? `Loading ${text}.` : standing(view, person)}
        </p>
        {fault !== "" && (
          <p class="note note-alert" role="alert">
            {sentence(fault)}
          </p>
        )}
        <ChancesBar chances={thought?.chances ?? null} names={names} near={person} />
        {thought !== null && (
          <p class="section-note">
            {count(thought.simulations)} simulations in {thought.seconds < 1 ? "under 1 s" : duration(thought.seconds)}.
          </p>
        )}
        <div class="controls">
          <Button disabled={view === null || !view.canTakeBack || isThinking} onClick={() => ask({ type: "takeBack" })}>
            Take back
          </Button>
        </div>
        {children}
        {view !== null && <MovesList turns={view.turns} names={names} />}
      </div>
    </div>
  );
}

function standing(view: TabView, person: Player): string {
  if (view.reward !== null) return view.reward > 0 ? "You win." : view.reward < 0 ? `${AGENT} wins.` : "A draw.";
  return view.toMove === person ? "Your move." : `${AGENT} is thinking.`;
}

render(<TabPage />, document.getElementById("app")!);
