// Prints the sizes of the bundled and minified verifier, as README.md states them.

import { gzipSync } from "node:zlib";

import { buildSync } from "esbuild";

const ENTRIES = {
  "state proofs, without the curve":
    'export { MapKey, parseStateProof, verifyAccount, verifyField, verifyVariable, variableHash } from "silica-proof";',
  "all of silica-proof": 'export * from "silica-proof";',
  "silica-proof/page": 'export * from "silica-proof/page";',
};

for (const [name, contents] of Object.entries(ENTRIES)) {
  const options = { bundle: true, minify: true, write: false, format: "esm", target: "es2022" };
  const [{ contents: output }] = buildSync({
    ...options,
    stdin: { contents, resolveDir: import.meta.dirname },
  }).outputFiles;
  console.log(`${name}: ${output.length} bytes, ${gzipSync(output, { level: 9 }).length} bytes in gzip`);
}
