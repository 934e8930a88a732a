// Completion of addresses in inputs.
import { formatAmount } from "../format/amount.ts";
import { nullAddress, toBech32 } from "../format/address.ts";
import { labels } from "../labels.ts";
import { useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import type { AccountRow } from "../rpc/types.ts";

/** The id of the list of addresses, for the attribute `list` of an input. */
export const addressBook = "address-book";

/** Reads the first accounts and contracts of the chain, without the null account. */
export function useAccounts() {
  return useResource("address-book", async (signal) => {
    const { accounts } = await call("silica_listAccounts", [{ limit: 200 }], signal);
    return accounts.filter(({ address }) => address !== nullAddress);
  });
}

/** The list of addresses: those with a name in this browser, accounts and contracts. A page has it once. */
export function AddressBook({ accounts = [] }: { accounts: AccountRow[] | undefined }) {
  const names = labels.value;
  const options = new Map(Object.entries(names));
  for (const { address, balance, codeHash } of accounts) {
    const kind = codeHash ? "contract" : formatAmount(balance);
    options.set(address, names[address] ? `${names[address]}, ${kind}` : kind);
  }
  return (
    <datalist id={addressBook}>
      {[...options].map(([address, label]) => (
        <option key={address} value={toBech32(address)} label={label} />
      ))}
    </datalist>
  );
}
