/** The error of this package: a value is malformed, or a proof does not prove what the caller expects. */
export class ProofError extends Error {
    override readonly name = "ProofError";

    /**
     * @param step The failed step: the part of the input with the fault, for example `stateProof[3]`.
     * @param expected What the step expects.
     * @param got What the input has instead.
     */
    constructor(
        readonly step: string,
        readonly expected: string,
        readonly got: string,
    ) {
        super(`${step}: expected ${expected}, got ${got}`);
    }
}

/** Throws a {@link ProofError}. */
export function fail(step: string, expected: string, got: string): never {
    throw new ProofError(step, expected, got);
}

/** Returns the JSON type of a value, for an error. */
export function kind(value: unknown): string {
    if (value === null) return "null";
    if (value === undefined) return "no value";
    if (Array.isArray(value)) return "an array";
    return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Returns the beginning of a text as a JSON string, for an error. */
export function quote(text: string): string {
    return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** Returns a short text for a value of any JSON type, for an error. */
export function shown(value: unknown): string {
    if (typeof value === "string") return quote(value);
    return typeof value === "number" || typeof value === "boolean" ? String(value) : kind(value);
}

/** Returns the object, or throws an error for another JSON type. */
export function object(step: string, value: unknown): Record<string, unknown> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) fail(step, "an object", kind(value));
    return value as Record<string, unknown>;
}

/** Returns the array, or throws an error for another JSON type. */
export function array(step: string, value: unknown): readonly unknown[] {
    return Array.isArray(value) ? value : fail(step, "an array", kind(value));
}

/** Returns the string, or throws an error for another JSON type. */
export function string(step: string, value: unknown): string {
    return typeof value === "string" ? value : fail(step, "a string", kind(value));
}
