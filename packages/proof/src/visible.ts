/** Returns a text in which each invisible character, other than a line feed, is a mark such as `⟨U+202E⟩`. */
export function visible(text: string): string {
    return text.replace(/[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, (character) => {
        if (character === "\n") return character;
        const code = character.codePointAt(0) ?? 0;
        return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    });
}
