// A wallet in the browser with the interface of ZilPay. The wallet keeps the keys, asks its user for consent, and signs
// and sends a transaction through its own network. So the page first checks that this network is the chain of the node.
import { call, endpoint } from "./rpc/client.ts";
import { settings } from "./node.ts";
import type { SimulatedTransaction } from "./rpc/types.ts";

interface ZilPay {
  wallet: {
    /** False while the wallet is locked. */
    isEnable: boolean;
    isConnect: boolean;
    /** `mainnet`, `testnet` or `private`. */
    net: string | null;
    defaultAccount: { base16: string; bech32: string } | null;
    connect(): Promise<boolean>;
  };
  provider: { send(method: string, ...params: unknown[]): Promise<{ result?: unknown; error?: { message: string } | null }> };
  transactions: Record<"new", (transaction: Record<string, unknown>) => unknown>;
  blockchain: { createTransaction(transaction: unknown): Promise<{ ID?: string; TranID?: string; ContractAddress?: string }> };
}

/** Returns the wallet of the browser, if it has one. */
export const findWallet = (): ZilPay | undefined => (globalThis as { zilPay?: ZilPay }).zilPay;

/** The values that a person enters as the private network of the wallet. */
export const networkValues = (): Array<[name: string, value: string]> => [
  ["Node URL", endpoint.href.replace(/\/$/, "")],
  ["Chain id", String(settings.value?.chainId ?? "")],
  ["Message version", "1"],
];

/** Asks the user of the wallet for consent, and returns the address of the account as 40 digits. */
export async function connectWallet(): Promise<string> {
  const wallet = findWallet()?.wallet;
  if (!wallet) throw new Error("the browser has no wallet like ZilPay");
  if (!(await wallet.connect())) throw new Error("the wallet refused the connection");
  const account = wallet.defaultAccount;
  if (!account) throw new Error("the wallet has no account, or is locked");
  await checkNetwork();
  return account.base16.replace(/^0x/, "").toLowerCase();
}

/**
 * Checks that the wallet sends to the chain of the node: the chain id is the same, and the network of the wallet has the
 * latest block of the node. The id alone is not enough, because many private chains have the same.
 */
async function checkNetwork(): Promise<void> {
  const zilPay = findWallet();
  const expected = settings.value?.chainId;
  if (!zilPay || expected === undefined) throw new Error("the page does not know the chain of the node yet; try again");
  const network = `the wallet is set to its network ${zilPay.wallet.net ?? "unknown"}`;
  const ask = async (method: string, ...params: unknown[]) => {
    const { result, error } = await zilPay.provider.send(method, ...params);
    if (error) throw new Error(`${network}, which answered ${method} with: ${error.message}`);
    return result;
  };
  const chain = await ask("GetNetworkId");
  if (String(chain) !== String(expected)) throw new Error(`expected chain id ${expected}, got ${String(chain)}: ${network}`);
  const { blocks } = await call("silica_getBlockRange", [{ limit: 1 }]);
  const latest = blocks[0]!;
  const block = (await ask("GetTxBlock", latest.to)) as { body?: { BlockHash?: string } } | undefined;
  const hash = block?.body?.BlockHash?.replace(/^0x/, "").toLowerCase();
  if (hash !== latest.hash) throw new Error(`${network}, which is another chain with the id ${expected}: it has no block ${latest.to} with the hash of this node`);
}

/** Lets the wallet sign and send a transaction. Returns its hash. */
export async function sendByWallet(sender: string, transaction: SimulatedTransaction, gasPrice: string): Promise<string> {
  const zilPay = findWallet();
  if (!zilPay) throw new Error("the browser has no wallet like ZilPay");
  const account = zilPay.wallet.defaultAccount?.base16.replace(/^0x/, "").toLowerCase();
  if (account !== sender) throw new Error(`expected the account 0x${sender} in the wallet, got ${account ? `0x${account}` : "none"}; connect again`);
  await checkNetwork();
  const { toAddr, amount, code, data, gasLimit } = transaction;
  // `new` is a method of the wallet with this name, not a constructor.
  const made = zilPay.transactions.new({
    version: settings.value?.transactionVersion,
    toAddr,
    amount: amount ?? "0",
    gasPrice,
    gasLimit: Number(gasLimit),
    code: code ?? "",
    data: data ?? "",
  });
  const sent = await zilPay.blockchain.createTransaction(made);
  const hash = sent.ID ?? sent.TranID;
  if (!hash) throw new Error("the wallet returned no hash of the transaction");
  return hash.replace(/^0x/, "").toLowerCase();
}
