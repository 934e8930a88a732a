// The pages by the first part of their route. A page of an own chunk is loaded at its first use.
import type { ComponentType } from "preact";
import * as home from "./pages/home.tsx";

export interface PageModule {
  default: ComponentType;
}

export const pages: Record<string, () => Promise<PageModule>> = {
  "": () => Promise.resolve(home),
  debug: () => import("./pages/debug.tsx"),
  node: () => import("./pages/node.tsx"),
  rpc: () => import("./pages/rpc.tsx"),
  tools: () => import("./pages/tools.tsx"),
};
