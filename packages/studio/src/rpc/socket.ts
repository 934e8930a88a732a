// The WebSocket to the node: the latest block, reconnection, and the detection of reverts.
import { signal } from "@preact/signals";
import { endpoint } from "./client.ts";

/** A Tx block as the topic `NewBlock` sends it. */
export interface Head {
  number: number;
  hash: string;
  transactions: number;
  /** Microseconds since 1970. */
  timestamp: string;
}

export type ConnectionState = "connecting" | "open" | "closed";

/** The state of the connection. The header of the page shows it. */
export const connection = signal<ConnectionState>("connecting");
/** The latest block that the node sent; null before the first one. */
export const head = signal<Head | null>(null);
/** Counts the reverts and the reconnections. Lists with another count are read again. */
export const generation = signal(0);

const firstDelay = 500;
const longestDelay = 8_000;

interface NewBlock {
  query: "NewBlock";
  value: { TxBlock: { header: { BlockNum: string; NumTxns: number; Timestamp: string }; body: { BlockHash: string } } };
}

interface Revert {
  query: "Reverts";
  value: { block: string };
}

interface Notification {
  type: string;
  values: Array<NewBlock | Revert>;
}

/** Opens the connection and keeps it open. Each failed attempt doubles the delay, up to 8 s. */
export function connect(): void {
  let delay = firstDelay;
  let opened = false;
  const open = () => {
    const address = new URL(endpoint);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.onopen = () => {
      delay = firstDelay;
      connection.value = "open";
      // Blocks of the time without a connection are unknown to the page, so it reads its lists again.
      if (opened) generation.value += 1;
      opened = true;
      for (const query of ["Reverts", "NewBlock"]) socket.send(JSON.stringify({ query }));
    };
    socket.onmessage = (message) => receive(String(message.data));
    socket.onclose = () => {
      connection.value = "closed";
      setTimeout(open, delay);
      delay = Math.min(delay * 2, longestDelay);
    };
  };
  open();
}

function receive(text: string): void {
  let message: Notification;
  try {
    message = JSON.parse(text) as Notification;
  } catch {
    return;
  }
  if (message.type !== "Notification") return;
  for (const news of message.values) {
    if (news.query === "Reverts") {
      // The notification has no hash of the block that is now the latest, so the latest block is unknown.
      head.value = null;
      generation.value += 1;
    } else if (news.query === "NewBlock") {
      const { header, body } = news.value.TxBlock;
      const number = Number(header.BlockNum);
      head.value = { number, hash: body.BlockHash, transactions: header.NumTxns, timestamp: header.Timestamp };
    }
  }
}
