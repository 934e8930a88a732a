// Parts of the pages of a Tx block and of a DS block.
import { formatNumber } from "../format/amount.ts";
import { Loaded } from "./data.tsx";
import { Section } from "./page.tsx";
import { Copy } from "./text.tsx";
import { useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";

/** A bit map of a co-signature: a mark for each member, and the number of the members that signed. */
export function Bits({ bits }: { bits: boolean[] | null | undefined }) {
  if (!bits?.length) return <span class="muted">empty</span>;
  const signed = bits.filter(Boolean).length;
  return (
    <>
      {signed} of {bits.length} members signed{" "}
      <span class="bits" aria-hidden="true" title="The order of the DS committee: ■ signed, □ did not sign">
        {bits.map((bit) => (bit ? "■" : "□")).join("")}
      </span>
    </>
  );
}

/** The bytes of a block in the form of the network. */
export function RawBytes({ method, number }: { method: "GetRawTxBlock" | "GetRawDSBlock"; number: string }) {
  const raw = useResource(`${method} ${number}`, (signal) => call(method, [number], signal));
  return (
    <Section title="Raw bytes">
      <Loaded of={raw}>
        {({ data }) => (
          <>
            <p>
              {formatNumber(data.length / 2)} bytes in the serialized form of the network, from <code>{method}</code>.{" "}
              <Copy text={data} label="Copy the bytes" />
            </p>
            <pre tabIndex={0} role="region" aria-label="Bytes">
              {data}
            </pre>
          </>
        )}
      </Loaded>
    </Section>
  );
}
