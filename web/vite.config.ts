// Builds the pages into the Python package, which serves them; `npm run dev` serves them from source and asks a
// running `zerofleet dash` for the API.
import { defineConfig } from "vite";

const server = "http://127.0.0.1:8080";

export default defineConfig({
  build: {
    outDir: "../src/zerofleet/web/assets",
    emptyOutDir: true,
    // The first browsers with light-dark(), which the colours are written in.
    target: ["chrome123", "firefox120", "safari17.5"],
    // Everything is a file of its own: the Content-Security-Policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/api": { target: server, ws: true } } },
});
