import type { ComponentChildren } from "preact";

/** A word about a state. `live`: it is going on now; `alert`: it stands still or failed. */
export function Badge({
  tone = "plain",
  children,
}: {
  tone?: "plain" | "live" | "alert";
  children: ComponentChildren;
}) {
  return <span class={tone === "plain" ? "badge" : `badge badge-${tone}`}>{children}</span>;
}
