import { fail, quote, string } from "./error.js";

/** Returns the lower-case hexadecimal digits of bytes. */
export function toHex(bytes: Uint8Array): string {
    let text = "";
    for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
    return text;
}

function digit(code: number): number {
    if (code >= 48 && code <= 57) return code - 48;
    const letter = code | 32;
    return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/**
 * Reads hexadecimal digits without prefix, in any case.
 *
 * @throws ProofError An odd number of digits, no digits, or another character.
 */
export function fromHex(step: string, value: unknown): Uint8Array {
    const text = string(step, value);
    if (text === "") fail(step, "hexadecimal digits", "none");
    if (text.length % 2 !== 0) fail(step, "an even number of hexadecimal digits", `${text.length} characters`);
    const bytes = new Uint8Array(text.length / 2);
    for (let i = 0; i < bytes.length; i++) {
        const high = digit(text.charCodeAt(2 * i));
        const low = digit(text.charCodeAt(2 * i + 1));
        if (high < 0 || low < 0) fail(step, "hexadecimal digits, without prefix", quote(text));
        bytes[i] = (high << 4) | low;
    }
    return bytes;
}

/** Reads exactly `length` bytes from hexadecimal digits in any case, with or without the prefix `0x`. */
export function fixedHex(step: string, value: unknown, length: number): Uint8Array {
    const text = string(step, value);
    const digits = /^0x/i.test(text) ? text.slice(2) : text;
    if (digits.length !== 2 * length || !/^[0-9a-f]*$/i.test(digits)) {
        fail(step, `${2 * length} hexadecimal digits`, quote(text));
    }
    return fromHex(step, digits);
}

export function equal(left: Uint8Array, right: Uint8Array): boolean {
    return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
    const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}

/** Returns the UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
    return new TextEncoder().encode(text);
}
