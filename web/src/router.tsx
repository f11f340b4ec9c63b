// Pages by path, with the browser's history: links are ordinary links, and each address can be opened by itself.
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export interface PageProps {
  /** What the path's `:names` matched. */
  params: Record<string, string>;
  /** What follows the question mark. */
  query: URLSearchParams;
}

export type Page = ComponentType<PageProps>;

export interface Route {
  /** `/runs/:run/games/:id` */
  path: string;
  load: () => Promise<{ default: Page }>;
}

export interface Match {
  route: Route;
  params: Record<string, string>;
}

/** The first route that the path matches, or null; `:name` matches one segment. */
export function matchRoute(routes: readonly Route[], pathname: string): Match | null {
  const segments = split(pathname);
  for (const route of routes) {
    const wanted = split(route.path);
    if (wanted.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const matches = wanted.every((want, index) => {
      const given = segments[index] ?? "";
      if (!want.startsWith(":")) return want === given;
      const text = decoded(given);
      if (text === null) return false;
      params[want.slice(1)] = text;
      return true;
    });
    if (matches) return { route, params };
  }
  return null;
}

function split(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Goes to an address of these pages. `replace` keeps the history as it is, for steps that Back need not undo. */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  for (const tell of listeners) tell();
}

/** The address with some query settings changed; `null` removes one. */
export function withQuery(changes: Record<string, string | null>): string {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.pathname + url.search;
}

/** An address from segments, each escaped: `pathTo("runs", "c4")` is `/runs/c4`. */
export function pathTo(...segments: string[]): string {
  return `/${segments.map(encodeURIComponent).join("/")}`;
}

/** The address now shown; the caller is drawn again when it changes. */
export function useLocation(): URL {
  const [href, setHref] = useState(location.href);
  useEffect(() => {
    const tell = () => setHref(location.href);
    listeners.add(tell);
    addEventListener("popstate", tell);
    return () => {
      listeners.delete(tell);
      removeEventListener("popstate", tell);
    };
  }, []);
  return new URL(href);
}

interface LinkProps {
  href: string;
  class?: string;
  title?: string;
  "aria-current"?: "page" | undefined;
  "aria-label"?: string;
  children?: ComponentChildren;
}

/** A link within these pages, followed without loading the document again. */
export function Link({ href, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(href);
      }}
    >
      {children}
    </a>
  );
}

const listeners = new Set<() => void>();
