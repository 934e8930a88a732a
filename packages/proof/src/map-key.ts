import { parseAddress } from "./address.js";
import { toHex } from "./bytes.js";
import { fail, quote } from "./error.js";

const STEP = "map key";

function integer(number: bigint, least: bigint, bound: bigint): MapKey {
    if (number < least || number >= bound) fail(STEP, `an integer from ${least} to ${bound - 1n}`, String(number));
    return MapKey.string(String(number));
}

/** A key of a map of a contract: JSON text of a string, with its quotes. The storage has all map keys in this form. */
export class MapKey {
    private constructor(
        /** The JSON text, with its quotes. */
        readonly json: string,
    ) {}

    /** Returns the key of an address, of a contract or of any `ByStr20`. The address is hexadecimal or bech32. */
    static address(address: string): MapKey {
        return MapKey.bystr(parseAddress(STEP, address));
    }

    /** Returns the key of a byte string: `ByStr` or `ByStr` with a length. */
    static bystr(bytes: Uint8Array): MapKey {
        return MapKey.string(`0x${toHex(bytes)}`);
    }

    /** Returns the key of a `String`. */
    static string(text: string): MapKey {
        if (/\p{Surrogate}/u.test(text)) fail(STEP, "Unicode text", `half of a surrogate pair in ${quote(text)}`);
        return new MapKey(JSON.stringify(text));
    }

    /** Returns the key of an unsigned integer of at most 256 bits. */
    static uint(number: bigint): MapKey {
        return integer(number, 0n, 1n << 256n);
    }

    /** Returns the key of a signed integer of at most 256 bits. */
    static int(number: bigint): MapKey {
        return integer(number, -(1n << 255n), 1n << 255n);
    }

    /** Returns the key of a block number. */
    static bnum(number: bigint): MapKey {
        return MapKey.uint(number);
    }

    /**
     * Reads the JSON text of a string, with its quotes. The key has the escapes of the storage, even if the text has
     * others.
     *
     * @throws ProofError The text is not a JSON string, for example because it has no quotes.
     */
    static fromJson(json: string): MapKey {
        let text: unknown;
        try {
            if (json.startsWith('"') && json.endsWith('"')) text = JSON.parse(json);
        } catch {
            // The error below names the text.
        }
        return typeof text === "string"
            ? MapKey.string(text)
            : fail(STEP, "a JSON string with its quotes", quote(json));
    }
}
