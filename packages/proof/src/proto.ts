import { toHex } from "./bytes.js";
import { fail } from "./error.js";

const U64_MAX = (1n << 64n) - 1n;
const U32_MAX = (1n << 32n) - 1n;

/**
 * Reads a protobuf message in its only canonical form: fields in ascending order, each once, numbers without surplus
 * bytes. Only this form has the hash that a committee signed.
 */
export class Reader {
    #at = 0;

    constructor(
        readonly name: string,
        readonly bytes: Uint8Array,
    ) {}

    #varint(field: string): bigint {
        let value = 0n;
        for (let shift = 0n; shift < 70n; shift += 7n) {
            const byte = this.bytes[this.#at];
            if (byte === undefined) this.#fail(field, "a number", "the end of the bytes");
            this.#at += 1;
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) {
                if (byte === 0 && shift > 0n) this.#fail(field, "a number in its shortest form", "a longer form");
                return value <= U64_MAX ? value : this.#fail(field, "a number below 2^64", String(value));
            }
        }
        return this.#fail(field, "a number of at most 10 bytes", "more");
    }

    #fail(field: string, expected: string, got: string): never {
        fail(`${this.name}.${field}`, expected, `${got} at byte ${this.#at}`);
    }

    /** Consumes the tag of a field if it is next. Field numbers are below 16, so a tag has one byte. */
    #tag(number: number, wire: 0 | 2): boolean {
        const found = this.bytes[this.#at] === ((number << 3) | wire);
        if (found) this.#at += 1;
        return found;
    }

    #expect(number: number, wire: 0 | 2, field: string): void {
        if (!this.#tag(number, wire)) {
            const byte = this.bytes[this.#at];
            this.#fail(
                field,
                `field ${number}`,
                byte === undefined ? "the end of the message" : `tag ${toHex(Uint8Array.of(byte))}`,
            );
        }
    }

    #chunk(field: string): Uint8Array {
        const length = this.#varint(field);
        const left = this.bytes.length - this.#at;
        if (length > BigInt(left)) this.#fail(field, `at most ${left} bytes`, `${length} bytes`);
        const start = this.#at;
        this.#at += Number(length);
        return this.bytes.subarray(start, this.#at);
    }

    /** Reads a number that the message has even if it is 0. */
    explicit(number: number, field: string): bigint {
        this.#expect(number, 0, field);
        return this.#varint(field);
    }

    /** Reads a number that the message has only if it is above 0. */
    implicit(number: number, field: string): bigint {
        if (!this.#tag(number, 0)) return 0n;
        return this.#varint(field) || this.#fail(field, "a number above 0, or no field", "0");
    }

    /** Reads an implicit number below 2^32. */
    implicit32(number: number, field: string): number {
        return this.#below32(this.implicit(number, field), field);
    }

    /** Reads an explicit number below 2^32. */
    explicit32(number: number, field: string): number {
        return this.#below32(this.explicit(number, field), field);
    }

    #below32(value: bigint, field: string): number {
        return value <= U32_MAX ? Number(value) : this.#fail(field, "a number below 2^32", String(value));
    }

    /** Reads bytes with a fixed length. */
    fixed(number: number, length: number, field: string): Uint8Array {
        this.#expect(number, 2, field);
        return this.#exact(this.#chunk(field), length, field);
    }

    #exact(bytes: Uint8Array, length: number, field: string): Uint8Array {
        return bytes.length === length ? bytes : this.#fail(field, `${length} bytes`, `${bytes.length} bytes`);
    }

    /** Reads bytes with a fixed length in a message with one field. */
    wrapped(number: number, length: number, field: string): Uint8Array {
        const inner = this.message(number, field);
        const bytes = inner.fixed(1, length, "data");
        inner.end();
        return bytes;
    }

    /** Reads a nested message. */
    message(number: number, field: string): Reader {
        this.#expect(number, 2, field);
        return new Reader(`${this.name}.${field}`, this.#chunk(field));
    }

    /** Reads the messages of a repeated field. */
    *messages(number: number, field: string): Generator<Reader> {
        for (let i = 0; this.#tag(number, 2); i++) yield new Reader(`${this.name}.${field}[${i}]`, this.#chunk(field));
    }

    /** Reads a list of bits with one byte for each bit. The message has no field for an empty list. */
    bits(number: number, field: string): boolean[] {
        if (!this.#tag(number, 2)) return [];
        const bytes = this.#chunk(field);
        if (bytes.length === 0) this.#fail(field, "at least one bit, or no field", "an empty list");
        return Array.from(bytes, (byte) =>
            byte <= 1 ? byte === 1 : this.#fail(field, "bits as bytes 0 and 1", String(byte)),
        );
    }

    /** Returns whether a field is next. */
    has(number: number, wire: 0 | 2): boolean {
        return this.bytes[this.#at] === ((number << 3) | wire);
    }

    /** Throws an error unless all bytes of the message were read. */
    end(): void {
        const byte = this.bytes[this.#at];
        if (byte !== undefined)
            fail(this.name, `the end of the message at byte ${this.#at}`, `tag ${toHex(Uint8Array.of(byte))}`);
    }
}
