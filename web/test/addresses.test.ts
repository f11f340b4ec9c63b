import { describe, expect, test, vi } from "vitest";
import { pauseBefore } from "../src/live";
import { address } from "../src/client";
import { matchRoute, pathTo, type Route } from "../src/router";

const load = vi.fn();
const routes: Route[] = ["/runs", "/runs/:run", "/runs/:run/games", "/runs/:run/games/:id"].map((path) => ({
  path,
  load,
}));

describe("addresses", () => {
  test("a path finds its route, and its names are unescaped", () => {
    expect(matchRoute(routes, "/runs/my%20run/games/")?.params).toEqual({ run: "my run" });
    expect(matchRoute(routes, "/runs/c4/games/0a-7")?.params).toEqual({ run: "c4", id: "0a-7" });
  });

  test("a path that no route has, or that is badly escaped, matches nothing", () => {
    expect(matchRoute(routes, "/nowhere")).toBeNull();
    expect(matchRoute(routes, "/runs/%E0%A4%A")).toBeNull();
  });

  test("names are escaped in links and requests", () => {
    expect(pathTo("runs", "a/b", "games")).toBe("/runs/a%2Fb/games");
    expect(address("/api/v1/runs/{run}", { run: "a/b" }, { limit: 5, worker: null })).toBe(
      "/api/v1/runs/a%2Fb?limit=5",
    );
  });

  test("a request that lacks a name of its path is not sent", () => {
    expect(() => address("/api/v1/runs/{run}", {})).toThrow("run is missing");
  });
});

test("pauses between tries of the live connection grow to ten seconds", () => {
  const middle = () => 0.5;
  expect([0, 1, 2, 9].map((attempt) => pauseBefore(attempt, middle))).toEqual([500, 1000, 2000, 10_000]);
});
