// How the bundle contains the package silica-proof: from its sources, so the package needs no build of its own.
// tsconfig.json has the paths of its modules. `npm ci` in packages/proof installs what the sources import.
import { fileURLToPath } from "node:url";
import { pageAssets } from "../../proof/assets.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Options of esbuild. */
export const proofOptions = {
  // Otherwise, the bundle has a second copy of the hashes, from the directory of the package.
  alias: { "@noble/hashes": here("../node_modules/@noble/hashes") },
  plugins: [
    {
      name: "page-assets",
      setup(build) {
        build.onResolve({ filter: /^\.\/page-assets\.js$/ }, ({ path }) => ({ path, namespace: "page-assets" }));
        build.onLoad({ filter: /.*/, namespace: "page-assets" }, () => ({ contents: pageAssets(), loader: "js" }));
      },
    },
  ],
};
