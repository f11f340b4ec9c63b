import { Link } from "../router";

export interface Tab {
  href: string;
  text: string;
  isCurrent: boolean;
}

/** Links to the pages or orders of one thing; the one now shown is marked. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.href} href={tab.href} aria-current={tab.isCurrent ? "page" : undefined}>
          {tab.text}
        </Link>
      ))}
    </nav>
  );
}
