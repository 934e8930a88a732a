// Loads a module of the page into Node: esbuild removes the types and joins its imports.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { proofOptions } from "../tools/proof.mjs";

/** Returns the exports of a module of `src`. */
export async function load(path) {
  const result = await build({
    ...proofOptions,
    entryPoints: [fileURLToPath(new URL(`../src/${path}`, import.meta.url))],
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
