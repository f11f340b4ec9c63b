// What the pages about lending have in common.
import { useEffect } from "preact/hooks";
import type { components } from "../api";
import { Empty } from "../parts/page";
import { Tabs } from "../parts/tabs";

export type LendStatus = components["schemas"]["LendStatus"];

const pages = [
  { href: "/lend", text: "Lend" },
  { href: "/community", text: "Community" },
  { href: "/operator", text: "Operator" },
];

export function LendTabs() {
  return <Tabs label="Lending" tabs={pages.map((page) => ({ ...page, isCurrent: location.pathname === page.href }))} />;
}

export function LendingIsOff({ reason }: { reason: string }) {
  return (
    <Empty title="Lending is off" command="zerofleet dash --lend --run NAME">
      {reason === "" || reason === "lending is off"
        ? "A run that trains as a fleet can take games that browsers play. Its operator turns it on:"
        : `${reason}. An operator turns it on:`}
    </Empty>
  );
}

/** Asks again every so often while the page is shown. */
export function useEvery(seconds: number, ask: () => void): void {
  useEffect(() => {
    const timer = setInterval(ask, 1000 * seconds);
    return () => clearInterval(timer);
  }, []);
}
