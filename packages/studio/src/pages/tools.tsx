// Conversions: addresses, amounts, hashes of variables and of data, and addresses of public keys. The browser computes
// all of them, and sends nothing.
import { useSignal } from "@preact/signals";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { ComponentChildren } from "preact";
import { parseAddress, toBech32 } from "../format/address.ts";
import { formatAmount, parseAmount, type Unit } from "../format/amount.ts";
import { fromHex, toHex } from "../format/bytes.ts";
import { toChecksum } from "../format/checksum.ts";
import { ethereumAddress, parsePublicKey, zilliqaAddress } from "../format/publicKey.ts";
import { storageKey, variableHash } from "../format/storageKey.ts";
import { Facts } from "../parts/data.tsx";
import { Field, TextField } from "../parts/form.tsx";
import { Page, Section } from "../parts/page.tsx";
import { ChainText, Copy } from "../parts/text.tsx";
import { link } from "../router.ts";

export default function Tools() {
  return (
    <Page title="Tools" lead="This browser computes the results. Never enter a secret key here.">
      <div class="node-control">
        <Addresses />
        <Units />
        <Variable />
        <Hashes />
        <Keys />
      </div>
    </Page>
  );
}

/** A result with a button that copies it. */
const Result = ({ text, name }: { text: string; name: string }) => (
  <span class="hash">
    {text} <Copy text={text} label={`Copy ${name}`} />
  </span>
);

const results = (rows: Array<[name: string, text: string]>): Array<[string, ComponentChildren]> =>
  rows.map(([name, text]) => [name, <Result text={text} name={name} />]);

const wrongAddress = "expected an address: zil1 and 38 characters, or 40 hexadecimal digits";

/** The spellings of an address. */
const spellings = (hex: string): Array<[string, string]> => [
  ["bech32", toBech32(hex)],
  ["With checksum", toChecksum(hex)],
  ["Hexadecimal", `0x${hex}`],
];

function Addresses() {
  const text = useSignal("");
  const hex = parseAddress(text.value);
  const digits = text.value.trim().replace(/^0x/, "");
  // Digits of one letter case have no checksum.
  const hasChecksum = hex !== null && !text.value.trim().toLowerCase().startsWith("zil1") && digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return (
    <Section title="Address">
      <TextField
        label="Address in any spelling"
        placeholder="zil1… or 0x…"
        value={text.value}
        error={text.value.trim() && !hex ? wrongAddress : null}
        onValue={(value) => (text.value = value)}
      />
      {hex && <Facts rows={[...results(spellings(hex)), ["Account", <a href={link(["address", `0x${hex}`])}>page of the address</a>]]} />}
      {hex && hasChecksum && toChecksum(hex).slice(2) !== digits && (
        <p class="warn">⚠ The letter case of the digits is not a checksum of this address. The address may have a typing error.</p>
      )}
    </Section>
  );
}

const units: Unit[] = ["ZIL", "Li", "Qa"];

function Units() {
  const text = useSignal("1");
  const unit = useSignal<Unit>("ZIL");
  let qa: bigint | null = null;
  let error: string | null = null;
  try {
    qa = text.value.trim() ? parseAmount(text.value, unit.value) : null;
  } catch (cause) {
    error = (cause as Error).message;
  }
  return (
    <Section title="Units of money">
      <div class="control-row">
        <TextField label="Amount" inputMode="decimal" value={text.value} error={error} onValue={(value) => (text.value = value)} />
        <Field label="Unit">
          {(attributes) => (
            <select {...attributes} value={unit.value} onChange={(event) => (unit.value = event.currentTarget.value as Unit)}>
              {units.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      {qa !== null && <Facts rows={results(units.map((name) => [name, formatAmount(qa!, name).replace(/ .*/, "").replaceAll(",", "")]))} />}
    </Section>
  );
}

function Variable() {
  const address = useSignal("");
  const name = useSignal("");
  const keys = useSignal("");
  const hex = parseAddress(address.value);
  const key = hex && name.value.trim() ? storageKey(hex, name.value.trim(), keys.value ? keys.value.split("\n") : []) : null;
  const hash = key && variableHash(key);
  return (
    <Section title="Hash of a variable">
      <TextField
        label="Contract"
        placeholder="zil1… or 0x…"
        value={address.value}
        error={address.value.trim() && !hex ? wrongAddress : null}
        onValue={(text) => (address.value = text)}
      />
      <TextField label="Field" value={name.value} onValue={(text) => (name.value = text)} />
      <Field label="Keys of the map" hint="One key on each line, without quotes, the outermost first. Stored addresses are 0x and lower-case digits.">
        {(attributes) => <textarea {...attributes} rows={2} spellcheck={false} value={keys.value} onInput={(event) => (keys.value = event.currentTarget.value)} />}
      </Field>
      {key && hash && (
        <>
          <Facts rows={[["Variable hash", <Result text={hash} name="variable hash" />], ["Plain key", <ChainText text={key} />]]} />
          <p>
            <a href={link(["proof"], { address: `0x${hex}`, field: name.value.trim(), ...(keys.value && { keys: JSON.stringify(keys.value.split("\n")) }) })}>Verify a proof of this variable</a>
            {" · "}
            <a href={link(["rpc", "GetStateProof"], { params: JSON.stringify([hex, hash, "latest"]) })}>Request the proof of this variable</a>
          </p>
        </>
      )}
    </Section>
  );
}

function Hashes() {
  const text = useSignal("");
  const form = useSignal<"text" | "hex">("text");
  const bytes = form.value === "text" ? new TextEncoder().encode(text.value) : fromHex(text.value);
  return (
    <Section title="Hash of data">
      <Field label="Data" error={bytes ? null : "expected hexadecimal digits, two for each byte, with or without 0x"}>
        {(attributes) => <textarea {...attributes} rows={3} spellcheck={false} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />}
      </Field>
      <Field label="The data are">
        {(attributes) => (
          <select {...attributes} value={form.value} onChange={(event) => (form.value = event.currentTarget.value as "text" | "hex")}>
            <option value="text">text in UTF-8</option>
            <option value="hex">hexadecimal digits</option>
          </select>
        )}
      </Field>
      {bytes && (
        <Facts
          rows={[
            ["Bytes", bytes.length],
            ...results([
              ["SHA-256", toHex(sha256(bytes))],
              ["Keccak-256", toHex(keccak_256(bytes))],
            ]),
          ]}
        />
      )}
    </Section>
  );
}

function Keys() {
  const text = useSignal("");
  let addresses: Array<[string, string]> = [];
  let error: string | null = null;
  try {
    if (text.value.trim()) {
      const key = parsePublicKey(text.value);
      addresses = [...spellings(zilliqaAddress(key)), ["Address of Ethereum", `0x${ethereumAddress(key)}`], ["Compressed", key.compressed], ["Uncompressed", key.uncompressed]];
    }
  } catch (cause) {
    error = (cause as Error).message;
  }
  return (
    <Section title="Addresses of a public key">
      <TextField
        label="Public key"
        hint="66 digits, as senderPubKey of a transaction has, or 130 digits. Not the secret key, which has 64 digits."
        value={text.value}
        error={error}
        onValue={(value) => (text.value = value)}
      />
      {addresses.length > 0 && <Facts rows={results(addresses)} />}
    </Section>
  );
}
