// Loads a module of the page into Node: esbuild removes the types and joins its imports.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { proofOptions } from "../tools/proof.mjs";

/** Returns the exports of modules of `src`, which share the modules that they import. */
export async function load(...paths) {
  const result = await build({
    ...proofOptions,
    stdin: {
      contents: paths.map((path) => `export * from ${JSON.stringify(`./${path}`)};`).join("\n"),
      resolveDir: fileURLToPath(new URL("../src", import.meta.url)),
    },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].contents).toString("base64")}`);
}
