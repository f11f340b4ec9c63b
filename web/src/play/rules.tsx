// The rules of a game, folded away until someone asks; Beasty Bar's come with its animals.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { GameLine } from "./seats";

interface RulesProps {
  game: GameLine;
  isOpenFirst?: boolean;
  /** Whether the animals are shown here, not elsewhere on the page. */
  hasLegend?: boolean;
}

export function Rules({ game, isOpenFirst = false, hasLegend = true }: RulesProps) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  const hasAnimals = game.species.length > 0;
  // The legend shows the animals better than their table does; how to write moves matters in a terminal only.
  const isShown = (text: string): boolean =>
    !(hasAnimals && /^\s*animal\s+strength/.test(text)) && !/^Write /.test(text);
  const paragraphs = game.rules.filter(isShown);
  return (
    <details class="rules" open={isOpenFirst} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Rules</summary>
      <div class="rules-text">
        {paragraphs.map((text, index) =>
          /\n\s*\S.* {2,}\S/.test(text) ? <pre key={index}>{text}</pre> : <p key={index}>{text}</p>,
        )}
        {isOpen && hasAnimals && hasLegend && <Animals />}
      </div>
    </details>
  );
}

/** The cards of Beasty Bar, each with what it does. */
export function Animals() {
  const [Legend, setLegend] = useState<FunctionComponent | null>(null);
  useEffect(() => {
    void import("../boards/beastybar_board").then((module) => setLegend(() => module.Legend));
  }, []);
  return Legend && <Legend />;
}
