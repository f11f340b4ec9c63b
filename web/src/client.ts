// Asks the server. Paths, settings and answers have the types of its OpenAPI schema, so a drift does not compile.
import { useEffect, useRef, useState } from "preact/hooks";
import type { paths } from "./api";

/** What went wrong, in the server's words; `code` is the API's, or `unreachable` where no answer came. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

type Method = "get" | "post" | "delete";
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O } ? O : never;
type Json<T> = T extends { content: { "application/json": infer J } } ? J : never;
type Success<R> = R extends { 200: infer A } ? Json<A> : R extends { 201: infer A } ? Json<A> : never;
type Parameter<O, In extends string> = O extends { parameters: infer S }
  ? In extends keyof S
    ? Exclude<S[In], undefined>
    : Empty
  : Empty;
type Empty = Record<never, never>;

/** The answer of `GET path` or `POST path`. */
export type Answer<P extends keyof paths, M extends Method = "get"> =
  Operation<P, M> extends { responses: infer R } ? Success<R> : never;

/** What a request takes: the path's `{names}`, the query, the body of a POST, the token of a lending account. */
export type Request<P extends keyof paths, M extends Method> = {
  path?: Parameter<Operation<P, M>, "path">;
  query?: Parameter<Operation<P, M>, "query">;
  body?: Operation<P, M> extends { requestBody?: infer B } ? Json<Exclude<B, undefined>> : never;
  token?: string;
  signal?: AbortSignal;
};

export function get<P extends PathsWith<"get">>(path: P, request: Request<P, "get"> = {}): Promise<Answer<P, "get">> {
  return send("GET", path, request) as Promise<Answer<P, "get">>;
}

export function post<P extends PathsWith<"post">>(
  path: P,
  request: Request<P, "post"> = {},
): Promise<Answer<P, "post">> {
  return send("POST", path, request) as Promise<Answer<P, "post">>;
}

/** Deletes something; there is no answer. */
export async function remove<P extends PathsWith<"delete">>(
  path: P,
  request: Request<P, "delete"> = {},
): Promise<void> {
  await send("DELETE", path, request);
}

interface LooseRequest {
  path?: object;
  query?: object;
  body?: unknown;
  token?: string;
  signal?: AbortSignal;
}

async function send(method: string, path: string, request: LooseRequest): Promise<unknown> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { accept: "application/json" } };
  if (request.signal) init.signal = request.signal;
  if (request.token) init.headers = { ...init.headers, authorization: `Bearer ${request.token}` };
  if (method === "POST") {
    init.headers = { ...init.headers, "content-type": "application/json" };
    init.body = JSON.stringify(request.body ?? {});
  }
  let response: Response;
  try {
    response = await fetch(address(path, request.path, request.query), init);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new ApiError("unreachable", "the server does not answer; is zerofleet dash still running?", 0);
  }
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response.json();
}

/** `/api/v1/runs/{run}` with its names filled in and the query behind it; undefined and null settings are left out. */
export function address(path: string, names: object = {}, query: object = {}): string {
  const given = new Map(Object.entries(names));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (!given.has(name)) throw new Error(`${path}: ${name} is missing`);
    return encodeURIComponent(String(given.get(name)));
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

async function refusal(response: Response): Promise<ApiError> {
  const said: unknown = await response.json().catch(() => null);
  const { code, message } = (said ?? {}) as { code?: unknown; message?: unknown };
  return new ApiError(
    typeof code === "string" ? code : String(response.status),
    typeof message === "string" ? message : `the server answered ${response.status} ${response.statusText}`.trim(),
    response.status,
  );
}

/** What a page asked for: loading, there, or failed; what was there stays until the next answer. */
export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  isLoading: boolean;
  /** Asks again, keeping what is shown. */
  reload: () => void;
  /** Changes what is shown, as a live message says. */
  update: (change: (data: T) => T) => void;
}

/**
 * Asks for something when the page is drawn, and again whenever `request` changes; null asks for nothing.
 * Of two answers the one to the newer question counts. What is shown stays until the next answer, unless that is about
 * something else: the path's names changed, not only the query.
 */
export function useGet<P extends PathsWith<"get">>(
  path: P,
  request: Omit<Request<P, "get">, "signal"> | null = {},
): Resource<Answer<P, "get">> {
  type Shown = { about: string; data: Answer<P, "get"> | null; error: ApiError | null; isLoading: boolean };
  const about = request === null ? "" : address(path, request.path);
  const key = request === null ? "" : address(path, request.path, request.query);
  const nothing: Shown = { about, data: null, error: null, isLoading: request !== null };
  const [stored, setShown] = useState<Shown>(nothing);
  const shown = stored.about === about ? stored : nothing;
  const asking = useRef<AbortController | null>(null);

  const ask = () => {
    asking.current?.abort();
    if (request === null) return;
    const controller = new AbortController();
    asking.current = controller;
    const change = (next: (last: Shown) => Partial<Shown>) => {
      if (controller.signal.aborted) return;
      setShown((last) => {
        const before = last.about === about ? last : nothing;
        return { ...before, ...next(before) };
      });
    };
    change(() => ({ isLoading: true }));
    get(path, { ...request, signal: controller.signal } as Request<P, "get">).then(
      (data) => change(() => ({ data, error: null, isLoading: false })),
      (error: unknown) => {
        const told = error instanceof ApiError ? error : new ApiError("unknown", String(error), 0);
        change(() => ({ error: told, isLoading: false }));
      },
    );
  };
  const newest = useRef(ask);
  newest.current = ask;

  useEffect(() => {
    ask();
    return () => asking.current?.abort();
  }, [key]);

  return {
    data: shown.data,
    error: shown.error,
    isLoading: shown.isLoading,
    reload: () => newest.current(),
    update: (change) => setShown((last) => (last.data === null ? last : { ...last, data: change(last.data) })),
  };
}
