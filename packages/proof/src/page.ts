/** Makes one HTML document that contains a proof and its verifier. */
import { parseAddress } from "./address.js";
import { toHex } from "./bytes.js";
import { fail } from "./error.js";
import { script, scriptHash, style, styleHash } from "./page-assets.js";
import type { ProofBundle, Trust } from "./verify.js";
import { visible } from "./visible.js";

/** The largest document in bytes. */
const PAGE_MAX = 80_000;

function escapeHtml(text: string): string {
    return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Returns JSON that cannot end its `script` element. Bytes become hexadecimal digits. */
function embed(value: unknown): string {
    const json = JSON.stringify(value, (_, member: unknown) => (member instanceof Uint8Array ? toHex(member) : member));
    return json.replace(
        /[<>&\u2028\u2029]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

/**
 * Returns an HTML document that verifies a proof without a network, when a browser opens it from a disk. The document
 * shows the proven values, what was verified, and what is assumed. A Content-Security-Policy permits only its own
 * program, by its hash, and no request.
 *
 * The function does not verify the proof. The document shows the error of an invalid proof.
 *
 * @param title The heading of the document.
 * @throws ProofError The address is invalid, or the document has more than 80,000 bytes.
 */
export function proofPage(bundle: ProofBundle, trust: Trust, title?: string): string {
    const address = toHex(parseAddress("address", bundle.address));
    const heading = escapeHtml(visible(title ?? `State proof of ${bundle.field ?? "account"} at 0x${address}`));
    const policy = [
        "default-src 'none'",
        `script-src 'sha256-${scriptHash}'`,
        `style-src 'sha256-${styleHash}'`,
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].join("; ");
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>${heading}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p id="status" role="status">The verification needs JavaScript.</p>
<div id="result"></div>
<h2>Trust in this file</h2>
<p>This file contains the proof and the program that verifies it. It makes no request. The author of the file can change
the program. So take the file only from a source that you trust, or verify the proof with your own program. Compare each
hash or key under “Assumed” with another source.</p>
</main>
<script type="application/json" id="data">${embed({ bundle, trust })}</script>
<script>${script}</script>
</body>
</html>
`;
    const size = new TextEncoder().encode(html).length;
    return size <= PAGE_MAX
        ? html
        : fail("page", `at most ${PAGE_MAX} bytes`, `${size} bytes: pin a later DS block, or leave out blocks`);
}
