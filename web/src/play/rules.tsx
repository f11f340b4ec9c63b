// The rules of a game, folded away until someone asks; Beasty Bar's come with its animals.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { GameLine } from "./seats";

export function Rules({ game, isOpenFirst = false }: { game: GameLine; isOpenFirst?: boolean }) {
  const [Legend, setLegend] = useState<FunctionComponent | null>(null);
  const [isOpen, setOpen] = useState(isOpenFirst);
  const hasAnimals = game.species.length > 0;
  useEffect(() => {
    if (!isOpen || !hasAnimals) return;
    void import("../boards/beastybar_board").then((module) => setLegend(() => module.Legend));
  }, [isOpen, hasAnimals]);
  // The legend shows the animals better than their table does.
  const paragraphs = game.rules.filter((text) => !(hasAnimals && /^\s*animal\s+strength/.test(text)));
  return (
    <details class="rules" open={isOpenFirst} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Rules</summary>
      <div class="rules-text">
        {paragraphs.map((text, index) => (/\n\s*\S.* {2,}\S/.test(text) ? <pre key={index}>{text}</pre> : <p key={index}>{text}</p>))}
        {Legend && <Legend />}
      </div>
    </details>
  );
}
