// What lists show of a contract: its name and its token standards. A deployed contract does not change.
import { call } from "./rpc/client.ts";
import { generation } from "./rpc/socket.ts";
import type { TokenStandard } from "./rpc/types.ts";

export interface ContractFacts {
  name: string;
  standards: TokenStandard[];
}

export interface TokenFacts {
  name: string | null;
  symbol: string | null;
  decimals: number | null;
}

const facts = new Map<string, Promise<ContractFacts>>();
let generationOfFacts = 0;

/** Returns the name and the standards of a contract or library. */
export function contractFacts(address: string): Promise<ContractFacts> {
  // After a revert, another contract can have the address.
  if (generationOfFacts !== generation.peek()) facts.clear();
  generationOfFacts = generation.peek();
  const known = facts.get(address);
  if (known) return known;
  const found = call("silica_getContractInterface", [address]).then(({ vname, standards }) => ({ name: vname, standards }));
  facts.set(address, found);
  found.catch(() => facts.delete(address));
  return found;
}

/** Returns name, symbol and decimals of a token from the parameters of its deployment. */
export async function tokenFacts(address: string, signal?: AbortSignal): Promise<TokenFacts> {
  const init = await call("GetSmartContractInit", [address], signal);
  const text = (name: string, type: string) => {
    const value = init.find((param) => param.vname === name && param.type === type)?.value;
    return typeof value === "string" ? value : null;
  };
  const decimals = Number(text("decimals", "Uint32") ?? NaN);
  // The page would write this number of zeros, and no token has more digits than its type.
  return { name: text("name", "String"), symbol: text("symbol", "String"), decimals: decimals <= 80 ? decimals : null };
}
