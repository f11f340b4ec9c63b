// Builds the pages into the Python package, which serves them; `npm run dev` serves them from source and asks a
// running `zerofleet dash` for the API.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const server = "http://127.0.0.1:8080";

/** Writes FILE.br and FILE.gz beside each text file, so that the server compresses nothing. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    // Once the files are on disk: until then other plugins still change them.
    writeBundle({ dir = "" }, bundle) {
      for (const fileName of Object.keys(bundle).filter((name) => /\.(js|css|html|svg)$/.test(name))) {
        const path = join(dir, fileName);
        const source = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(source));
        writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  build: {
    outDir: "../src/zerofleet/web/assets",
    // Names in here contain a hash of their content.
    assetsDir: "static",
    emptyOutDir: true,
    // The first browsers with light-dark(), which the colours are written in.
    target: ["chrome123", "firefox120", "safari17.5"],
    // Everything is a file of its own: the Content-Security-Policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compressed()],
  server: { proxy: { "/api": { target: server, ws: true } } },
});
