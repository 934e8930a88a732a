// The pages by the first part of their route. A page of an own chunk is loaded at its first use.
import type { ComponentType } from "preact";
import * as home from "./pages/home.tsx";

export interface PageModule {
  default: ComponentType;
}

export const pages: Record<string, () => Promise<PageModule>> = {
  "": () => Promise.resolve(home),
  accounts: () => import("./pages/accounts.tsx"),
  address: () => import("./pages/address.tsx"),
  block: () => import("./pages/block.tsx"),
  blocks: () => import("./pages/blocks.tsx"),
  committee: () => import("./pages/committee.tsx"),
  contract: () => import("./pages/contract.tsx"),
  contracts: () => import("./pages/contracts.tsx"),
  debug: () => import("./pages/debug.tsx"),
  deploy: () => import("./pages/deploy.tsx"),
  ds: () => import("./pages/ds.tsx"),
  labels: () => import("./pages/labels.tsx"),
  node: () => import("./pages/node.tsx"),
  proof: () => import("./pages/proof.tsx"),
  rpc: () => import("./pages/rpc.tsx"),
  search: () => import("./pages/search.tsx"),
  token: () => import("./pages/token.tsx"),
  tokens: () => import("./pages/tokens.tsx"),
  tools: () => import("./pages/tools.tsx"),
  transactions: () => import("./pages/transactions.tsx"),
  tx: () => import("./pages/tx.tsx"),
};
