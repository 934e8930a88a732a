// The libraries that a source text imports.
import { tokens } from "../scilla/highlight.ts";

/** The libraries of the language. They need no address. */
const standard = new Set(["BoolUtils", "Conversions", "CryptoUtils", "IntUtils", "ListUtils", "NatUtils", "PairUtils", "Polynetwork"]);

/** Returns the names of the imported libraries that need an address, without repetition. */
export function importedLibraries(source: string): string[] {
  const names = new Set<string>();
  const words = tokens(source).filter(({ kind }) => kind !== "space" && kind !== "comment");
  for (let place = 0; place < words.length; place += 1) {
    if (words[place]!.text !== "import") continue;
    while (words[place + 1]?.kind === "type") {
      place += 1;
      if (!standard.has(words[place]!.text)) names.add(words[place]!.text);
      // `import A as B` gives the library another name in this text only.
      if (words[place + 1]?.text === "as") place += 2;
    }
  }
  return [...names];
}
