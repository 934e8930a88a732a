import { fixedHex } from "./bytes.js";
import { fail, quote, string } from "./error.js";

const CHARACTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
/** The part `zil` of the checksum of bech32: the high bits of the characters, 0, and the low bits. */
const PREFIX = [3, 3, 3, 0, 26, 9, 12];

function checksum(words: readonly number[]): number {
    let sum = 1;
    for (const word of words) {
        const top = sum >>> 25;
        sum = ((sum & 0x1ffffff) << 5) ^ word;
        GENERATOR.forEach((part, i) => {
            if ((top >>> i) & 1) sum ^= part;
        });
    }
    return sum >>> 0;
}

/**
 * Reads an address: 40 hexadecimal digits in any case, with or without `0x`, or bech32.
 *
 * @throws ProofError The text has another form, or the checksum of its bech32 form is wrong.
 */
export function parseAddress(step: string, value: unknown): Uint8Array {
    const text = string(step, value);
    if (!text.startsWith("zil1")) return fixedHex(step, text, 20);
    const words = Array.from(text.slice(4), (character) => CHARACTERS.indexOf(character));
    if (words.length !== 38 || words.includes(-1)) fail(step, "zil1 and 38 characters of bech32", quote(text));
    if (checksum([...PREFIX, ...words]) !== 1) fail(step, "an address with the checksum of bech32", quote(text));
    const bytes = new Uint8Array(20);
    words.slice(0, 32).forEach((word, i) => {
        for (let bit = 0; bit < 5; bit++) {
            const at = 5 * i + bit;
            bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (((word >> (4 - bit)) & 1) << (7 - (at & 7)));
        }
    });
    return bytes;
}
