// The program and the style of the proof page, as a module of strings: the module `page-assets` of the package.

import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const options = { bundle: true, minify: true, write: false, legalComments: "none", target: "es2022", charset: "ascii" };
const bundle = (file, more) =>
  buildSync({ ...options, ...more, absWorkingDir: root, entryPoints: [join(root, "src", file)] }).outputFiles[0].text.trim();

/** Returns the source text of the module `page-assets`. */
export function pageAssets() {
  const script = bundle("page-main.ts", { format: "iife" });
  const style = bundle("page.css", {});
  for (const text of [script, style]) {
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error("the program or style of the page would end its element");
  }
  const hash = (text) => createHash("sha256").update(text).digest("base64");
  const assets = { script, scriptHash: hash(script), style, styleHash: hash(style) };
  return Object.entries(assets)
    .map(([name, text]) => `export const ${name} = ${JSON.stringify(text)};\n`)
    .join("");
}
