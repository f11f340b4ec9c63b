// Builds the pages into the Python package, which serves them; `npm run dev` serves them from source and asks a
// running `zerofleet dash` for the API.
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defaultClientConditions, defineConfig, type Plugin } from "vite";

const server = "http://127.0.0.1:8080";

/** Writes FILE.br and FILE.gz beside each text file, so that the server compresses nothing. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    // Once the files are on disk: until then other plugins still change them.
    writeBundle({ dir = "" }, bundle) {
      for (const fileName of Object.keys(bundle).filter((name) => /\.(js|mjs|css|html|svg|wasm)$/.test(name))) {
        const path = join(dir, fileName);
        const source = readFileSync(path);
        // The best quality takes minutes for what is large.
        const quality = source.length > 1_000_000 ? 9 : constants.BROTLI_MAX_QUALITY;
        writeFileSync(
          `${path}.br`,
          brotliCompressSync(source, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
        );
        writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
      }
    },
  };
}

/** `core:simd` and `core:plain` are the addresses of the core's builds, or empty where scripts/build-wasm has made none. */
function coreBuilds(): Plugin {
  const folder = fileURLToPath(new URL("../build/wasm/", import.meta.url));
  return {
    name: "core-builds",
    enforce: "pre",
    resolveId(id) {
      if (id !== "core:simd" && id !== "core:plain") return null;
      const path = `${folder}zerofleet${id === "core:plain" ? "-plain" : ""}.wasm`;
      return existsSync(path) ? `${path}?url` : "\0no-core";
    },
    load: (id) => (id === "\0no-core" ? 'export default "";' : null),
  };
}

/** The shipped weights beside the pages, for the page that plays without a server. */
function shippedWeights(): Plugin {
  const folder = fileURLToPath(new URL("../weights/", import.meta.url));
  return {
    name: "shipped-weights",
    apply: "build",
    writeBundle({ dir = "" }) {
      for (const name of readdirSync(folder)) {
        if (!existsSync(`${folder}${name}/graph.onnx`)) continue;
        mkdirSync(join(dir, "weights", name), { recursive: true });
        for (const file of ["graph.onnx", "weights.safetensors"]) {
          copyFileSync(join(folder, name, file), join(dir, "weights", name, file));
        }
      }
    },
  };
}

export default defineConfig({
  // tab.html works in any folder of any server of files; index.html is served at every path of the dashboard.
  base: "./",
  experimental: {
    renderBuiltUrl: (fileName, { hostId, hostType }) =>
      hostType === "html" && hostId === "index.html" ? `/${fileName}` : undefined,
  },
  build: {
    rolldownOptions: { input: ["index.html", "tab.html"] },
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
  plugins: [coreBuilds(), shippedWeights(), compressed()],
  // ONNX Runtime's own loader and binary are files of their own, so that its threads can load them.
  resolve: { conditions: ["onnxruntime-web-use-extern-wasm", ...defaultClientConditions] },
  optimizeDeps: { exclude: ["onnxruntime-web"] },
  worker: { format: "es" },
  server: {
    proxy: { "/api": { target: server, ws: true }, "/lend": { target: server, ws: true } },
    headers: { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" },
  },
});
