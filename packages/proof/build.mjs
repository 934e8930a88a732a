// Writes dist: the modules and types of the package, and the program of the proof page as a module of strings.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
execFileSync(process.execPath, [compiler, "--project", join(root, "tsconfig.json")], { stdio: "inherit" });
rmSync(join(dist, "page-main.js"));
rmSync(join(dist, "page-main.d.ts"));

const options = { bundle: true, minify: true, write: false, legalComments: "none", target: "es2022", charset: "ascii" };
const bundle = (file, more) =>
  buildSync({ ...options, ...more, entryPoints: [join(root, "src", file)] }).outputFiles[0].text.trim();
const script = bundle("page-main.ts", { format: "iife" });
const style = bundle("page.css", {});
for (const text of [script, style]) {
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error("the program or style of the page would end its element");
}
const hash = (text) => createHash("sha256").update(text).digest("base64");
const assets = { script, scriptHash: hash(script), style, styleHash: hash(style) };
writeFileSync(
  join(dist, "page-assets.js"),
  Object.entries(assets)
    .map(([name, text]) => `export const ${name} = ${JSON.stringify(text)};\n`)
    .join(""),
);
