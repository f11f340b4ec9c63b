// A custom game: the picture that its class draws, and its legal moves as buttons.
import { Button } from "../parts/controls";
import type { BoardProps, TextSeen } from "./board";
import "./boards.css";

export default function TextBoard({ seen, legal, hint, onPlay }: BoardProps<TextSeen>) {
  return (
    <div class="text-board">
      <pre class="text-picture" tabIndex={0} aria-label="Position">
        {seen.picture}
      </pre>
      {onPlay && (
        <div class="text-moves" role="group" aria-label="Legal moves">
          {legal.map(({ action, text }) => (
            <Button
              key={action}
              tone={hint.includes(action) ? "main" : "plain"}
              data-action={action}
              onClick={() => onPlay([action])}
            >
              {text}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}
