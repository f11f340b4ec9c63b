// What happened to a run, newest first.
import { useState } from "preact/hooks";
import type { components } from "../api";
import { Badge } from "../parts/badge";
import { Button } from "../parts/controls";
import { count } from "../parts/format";
import { Section } from "../parts/page";

type RunEvent = components["schemas"]["RunEvent"];

const numShownFirst = 10;

export function Events({ events }: { events: readonly RunEvent[] }) {
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? events : events.slice(0, numShownFirst);
  return (
    <Section title="Events">
      {events.length === 0 && <p class="section-note">Nothing happened yet.</p>}
      <ol class="events">
        {shown.map((event, index) => (
          <li key={`${event.time} ${event.kind} ${events.length - index}`}>
            <time dateTime={new Date(1000 * event.time).toISOString()}>{when(event.time)}</time>
            <span class="event-step">{event.step === null ? "" : `step ${count(event.step)}`}</span>
            <span>
              {isAlert(event) && (
                <>
                  <Badge tone="alert">{event.kind}</Badge>{" "}
                </>
              )}
              {event.text}
            </span>
          </li>
        ))}
      </ol>
      {events.length > shown.length && (
        <Button tone="quiet" onClick={() => setShowsAll(true)}>
          All {count(events.length)} events
        </Button>
      )}
    </Section>
  );
}

function isAlert(event: RunEvent): boolean {
  return event.kind === "refused" || event.kind === "fault";
}

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** The time of today's events, the date of older ones. */
function when(seconds: number): string {
  const at = new Date(1000 * seconds);
  return (at.toDateString() === new Date().toDateString() ? time : date).format(at);
}
