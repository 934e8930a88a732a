// Numbers of blocks.

/** The number that the node returns instead of a block that does not exist. */
export const noBlock = "18446744073709551615";

/** Parses the number of a block in a route. Returns null if the text is not a block number. */
export const parseNumber = (text: string | undefined): string | null => {
  if (!text || !/^\d{1,20}$/.test(text)) return null;
  const number = BigInt(text).toString();
  return BigInt(number) < BigInt(noBlock) ? number : null;
};
