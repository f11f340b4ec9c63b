// Builds the pages into the Python package, which serves them; `npm run dev` serves them from source and asks a
// running `zerofleet dash` for the API.
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const server = "http://127.0.0.1:8080";

/** Writes FILE.br and FILE.gz beside each text file, so that the server compresses nothing. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        if (!/\.(js|css|html|svg)$/.test(fileName)) continue;
        const source = file.type === "chunk" ? file.code : file.source;
        this.emitFile({ type: "asset", fileName: `${fileName}.br`, source: brotliCompressSync(source) });
        this.emitFile({ type: "asset", fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
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
