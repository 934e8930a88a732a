// Text of the chain: hashes, addresses, amounts, times, and text of contracts with visible control characters.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatAmount, formatNumber, type Unit } from "../format/amount.ts";
import { nullAddress, toBech32 } from "../format/address.ts";
import { formatAge, formatTime, toDate } from "../format/time.ts";
import { labels } from "../labels.ts";
import { announce, now } from "./live.tsx";
import { link } from "../router.ts";

/** A button that copies a text. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const done = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    done.value = true;
    announce("Copied");
    setTimeout(() => (done.value = false), 1500);
  };
  return (
    <button type="button" class="copy" aria-label={label} title={label} onClick={copy}>
      {done.value && "✓"}
    </button>
  );
}

/** Shortens the middle of a text. */
export const shorten = (text: string, start = 8, end = 6): string =>
  text.length <= start + end + 1 ? text : `${text.slice(0, start)}…${text.slice(-end)}`;

/** A hash with a copy button, and a link if it has a page. */
export function Hash({ value, to, whole = false }: { value: string; to?: string; whole?: boolean }) {
  const text = whole ? value : shorten(value);
  return (
    <span class={whole ? "hash whole" : "hash"} title={value}>
      {to ? <a href={to}>{text}</a> : <span>{text}</span>}
      <Copy text={value} label={`Copy ${text}`} />
    </span>
  );
}

export const TransactionLink = ({ hash, whole = false }: { hash: string; whole?: boolean }) => (
  <Hash value={hash} to={link(["tx", hash])} whole={whole} />
);

/** The number of a Tx block or DS block, with a link to its page. */
export const BlockLink = ({ number, kind = "block" }: { number: string | number; kind?: "block" | "ds" }) => (
  <a href={link([kind, number])}>{formatNumber(number)}</a>
);

/** An address by its name in this browser or in bech32 form, with a link to its page. */
export function Address({ hex, whole = false }: { hex: string; whole?: boolean }) {
  const plain = hex.replace(/^0x/, "").toLowerCase();
  if (plain === nullAddress) return <span class="muted">null address</span>;
  const text = toBech32(plain);
  const label = labels.value[plain];
  const shown = whole ? text : shorten(text, 9, 6);
  return (
    <span class={whole ? "hash whole" : "hash"} title={`${text}\n0x${plain}`}>
      {label && whole && <ChainText text={label} />} <a href={link(["address", `0x${plain}`])}>{label && !whole ? <ChainText text={label} /> : shown}</a>
      <Copy text={text} label={`Copy address ${shown}`} />
    </span>
  );
}

/** An amount of money. */
export const Amount = ({ qa, unit = "ZIL" }: { qa: string | bigint; unit?: Unit }) => (
  <span class="number" title={formatAmount(qa, "Qa")}>
    {formatAmount(qa, unit)}
  </span>
);

/** The age of a block, with its time as title. A whole time has both as text. */
export const Age = ({ timestamp, whole = false }: { timestamp: string; whole?: boolean }) => (
  <time dateTime={toDate(timestamp).toISOString()} title={formatTime(timestamp)}>
    {formatAge(timestamp, now())}
    {whole && ` (${formatTime(timestamp)})`}
  </time>
);

/** Success or failure of a transaction, in words and not by colour alone. */
export const Outcome = ({ success }: { success: boolean }) => (
  <span class={success ? "good" : "bad"}>{success ? "✓ success" : "✗ failed"}</span>
);

// Control characters, marks that change the direction, and characters without width.
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Returns a text with a visible mark in place of each invisible character. */
export function visible(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(invisible)) {
    parts.push(text.slice(end, match.index));
    const code = match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    parts.push(
      <span class="invisible" title={`invisible character U+${code}`}>
        U+{code}
      </span>,
    );
    end = match.index + match[0].length;
  }
  return parts.length ? [...parts, text.slice(end)] : text;
}

/** Text from a contract. Invisible characters have a visible mark, and the text has its own direction. */
export function ChainText({ text, limit = 4_096 }: { text: string; limit?: number }) {
  const whole = useSignal(false);
  const shown = whole.value || text.length <= limit ? text : text.slice(0, limit);
  return (
    <bdi class="chain-text">
      {visible(shown)}
      {shown.length < text.length && (
        <button type="button" class="link" onClick={() => (whole.value = true)}>
          … show all {formatNumber(text.length)} characters
        </button>
      )}
    </bdi>
  );
}

/** A value of JSON, indented. */
export const Json = ({ value }: { value: unknown }) => (
  <pre class="json" tabIndex={0} role="region" aria-label="JSON">
    <ChainText text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} limit={20_000} />
  </pre>
);
