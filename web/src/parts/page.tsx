// What every page is put together from: its head, sections, and what it says when there is nothing to show.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ApiError } from "../client";

interface PageHeadProps {
  title: string;
  /** A line above the title, such as a link to the list above it. */
  above?: ComponentChildren;
  /** Behind the title: badges. */
  beside?: ComponentChildren;
  /** A line below the title: what this is. */
  below?: ComponentChildren;
  /** On the right: what can be chosen or done. */
  children?: ComponentChildren;
}

/** The head of a page: its one `h1`, which also names the browser's tab. */
export function PageHead({ title, above, beside, below, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · zerofleet`;
  }, [title]);
  return (
    <div class="page-head">
      <div>
        {above && <div class="page-above">{above}</div>}
        <h1>
          {title} {beside}
        </h1>
        {below && <p class="page-below">{below}</p>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  title: string;
  note?: ComponentChildren;
  /** Controls on the right of the title. */
  controls?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a page under an `h2`. */
export function Section({ title, note, controls, children }: SectionProps) {
  return (
    <section class="section">
      <div class="section-head">
        <div>
          <h2>{title}</h2>
          {note && <p class="section-note">{note}</p>}
        </div>
        {controls}
      </div>
      {children}
    </section>
  );
}

/** Nothing here yet, and what to do about it: `command` is what to type. */
export function Empty({ title, command, children }: { title: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

/** A command, broken between its words only. */
function Command({ text }: { text: string }) {
  return (
    <code class="command">
      {text.split(" ").map((word, index) => (
        <>
          {index > 0 && " "}
          <span>{word}</span>
        </>
      ))}
    </code>
  );
}

/** What went wrong, in the server's words. */
export function ErrorNote({ error }: { error: ApiError }) {
  return (
    <p class="note note-alert" role="alert">
      {sentence(error.message)}
    </p>
  );
}

/** The server's words with a full stop. They stay in lower case: the first may be a name. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Shown while the first answer is on its way. */
export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}
