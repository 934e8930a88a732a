// Writes dist: the modules and types of the package, and the program of the proof page as a module of strings.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { pageAssets } from "./assets.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
execFileSync(process.execPath, [compiler, "--project", join(root, "tsconfig.json")], { stdio: "inherit" });
rmSync(join(dist, "page-main.js"));
rmSync(join(dist, "page-main.d.ts"));
writeFileSync(join(dist, "page-assets.js"), pageAssets());
