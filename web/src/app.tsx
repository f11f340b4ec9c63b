// The frame of every page and the list of pages; each page is loaded when it is first opened.
import { useEffect, useRef, useState } from "preact/hooks";
import { useIsAway } from "./live";
import { Loading, PageHead } from "./parts/page";
import { go, Link, matchRoute, useLocation, type Page, type Route } from "./router";
import { chooseTheme, isDark, onThemeChange } from "./theme";

const routes: readonly Route[] = [
  { path: "/runs", load: () => import("./pages/runs") },
  { path: "/runs/:run", load: () => import("./pages/run") },
  { path: "/runs/:run/games", load: () => import("./pages/games") },
  { path: "/runs/:run/games/:id", load: () => import("./pages/viewer") },
  { path: "/played/:id", load: () => import("./pages/viewer") },
  { path: "/play", load: () => import("./pages/play") },
  { path: "/play/:id", load: () => import("./pages/play") },
  { path: "/ladder", load: () => import("./pages/ladder") },
  { path: "/fleet", load: () => import("./pages/fleet") },
  { path: "/lend", load: () => import("./pages/lend") },
  { path: "/community", load: () => import("./pages/community") },
  { path: "/operator", load: () => import("./pages/operator") },
];

const places = [
  { href: "/runs", text: "Runs" },
  { href: "/play", text: "Play", also: ["/played"] },
  { href: "/ladder", text: "Ladder" },
  { href: "/fleet", text: "Fleet" },
  { href: "/lend", text: "Lend", also: ["/community", "/operator"] },
];

export function App() {
  const url = useLocation();
  const isHome = url.pathname === "/";
  useEffect(() => {
    if (isHome) go("/runs", { replace: true });
  }, [isHome]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header pathname={url.pathname} />
      {!isHome && <Shown url={url} />}
      <LiveNote />
    </>
  );
}

function Header({ pathname }: { pathname: string }) {
  return (
    <header class="header">
      <div class="header-row">
        <Link class="wordmark" href="/runs">
          zerofleet
        </Link>
        <nav class="nav" aria-label="Pages">
          {places.map(({ href, text, also = [] }) => {
            const isHere = [href, ...also].some((path) => pathname === path || pathname.startsWith(`${path}/`));
            return (
              <Link key={href} href={href} aria-current={isHere ? "page" : undefined}>
                {text}
              </Link>
            );
          })}
        </nav>
        <ThemeSwitch />
      </div>
    </header>
  );
}

function ThemeSwitch() {
  const [dark, setDark] = useState(isDark());
  useEffect(() => onThemeChange(() => setDark(isDark())), []);
  return (
    <button
      type="button"
      class="theme-switch"
      role="switch"
      aria-checked={dark}
      aria-label="Dark colours"
      onClick={() => chooseTheme(dark ? "light" : "dark")}
    >
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="7.25" fill="none" stroke="currentColor" stroke-width="1.5" />
        <path d="M10 2.75a7.25 7.25 0 0 1 0 14.5z" fill="currentColor" />
      </svg>
    </button>
  );
}

/** The page of the address: loaded once, then drawn with what the address says. */
function Shown({ url }: { url: URL }) {
  const match = matchRoute(routes, url.pathname);
  const route = match?.route ?? null;
  const [loaded, setLoaded] = useState<{ route: Route; Page: Page } | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  useEffect(() => {
    if (route === null) return;
    let isWanted = true;
    setFault(null);
    route.load().then(
      (module) => isWanted && setLoaded({ route, Page: module.default }),
      () => isWanted && setFault("This page could not be loaded. Is the server still running? Reload to try again."),
    );
    return () => {
      isWanted = false;
    };
  }, [route]);

  // A new page starts at its top, and the keyboard with it; the first one is where the browser puts it.
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [url.pathname]);

  return (
    <main class="main" id="main" tabIndex={-1} ref={main}>
      {match === null ? (
        <PageHead
          title="There is no such page"
          below={
            <>
              The address <code>{url.pathname}</code> leads nowhere. <Link href="/runs">All runs</Link>
            </>
          }
        />
      ) : fault !== null ? (
        <p class="note note-alert" role="alert">
          {fault}
        </p>
      ) : loaded !== null && loaded.route === route ? (
        <loaded.Page key={url.pathname} params={match.params} query={url.searchParams} />
      ) : (
        <Loading />
      )}
    </main>
  );
}

function LiveNote() {
  const isAway = useIsAway();
  return (
    <div role="status" aria-live="polite">
      {isAway && <span class="live-note">Reconnecting…</span>}
    </div>
  );
}
