/** An RLP item in a byte array: its content is at `start` to `end`, and the next item begins at `end`. */
export interface Item {
    readonly list: boolean;
    readonly start: number;
    readonly end: number;
}

/**
 * Reads the header of the RLP item at `at`. Returns `null` if the item does not end before `limit`, or if its encoding
 * is not canonical. The function does not read the content, so its time does not depend on the length or the depth.
 */
export function read(bytes: Uint8Array, at: number, limit: number): Item | null {
    const first = at < limit ? bytes[at] : undefined;
    if (first === undefined) return null;
    if (first < 0x80) return { list: false, start: at, end: at + 1 };
    const list = first >= 0xc0;
    const short = first & 0x3f;
    let start = at + 1;
    let length = short;
    if (short > 55) {
        // The length has 1 to 8 bytes without a leading zero, and is above 55.
        const count = short - 55;
        if (start + count > limit || bytes[start] === 0) return null;
        length = 0;
        for (let i = 0; i < count; i++) length = length * 256 + (bytes[start + i] ?? 0);
        if (length <= 55) return null;
        start += count;
    }
    if (length > limit - start) return null;
    // A single byte below 0x80 is its own encoding.
    if (first === 0x81 && (bytes[start] ?? 0) < 0x80) return null;
    return { list, start, end: start + length };
}
