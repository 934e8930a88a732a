// Proofs of the state: an account, a field, an entry of a map, or an absence. This browser verifies them.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { parseAddress } from "../format/address.ts";
import { parseNumber } from "../format/block.ts";
import { Facts, Failure, Loaded } from "../parts/data.tsx";
import { Action, Field, TextField } from "../parts/form.tsx";
import { save } from "../parts/file.ts";
import { announce } from "../parts/live.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Address, Amount, BlockLink, Copy, Hash } from "../parts/text.tsx";
import { Value } from "../parts/values.tsx";
import { check, type Claim, nameOf, type Report } from "../proof/check.ts";
import { pin } from "../proof/pin.ts";
import { PinPanel, usePin } from "../proof/pinPanel.tsx";
import { Assumed, Steps, Verdict } from "../proof/report.tsx";
import { type Given, givenSource, latestBlock, longestText, nodeSource, parsePasted } from "../proof/source.ts";
import { useResource } from "../resource.ts";
import { go, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import { keyTypes, parseType, printType, type Type } from "../scilla/types.ts";

/** Entries that each contract has in addition to its fields. */
const metadata = ["_addr", "_version", "_depth", "_type"];

const wrongAddress = "expected an address as zil1… or 40 hexadecimal digits";

/** What a route or a form asks for. `block` is undefined for the latest block. */
interface Question {
  claim: Claim;
  block: string | undefined;
}

/** Reads the keys of a route: a JSON array of texts. */
function parseKeys(text: string | null): string[] {
  if (!text) return [];
  let keys: unknown;
  try {
    keys = JSON.parse(text);
  } catch {
    // The error below shows the text.
  }
  if (Array.isArray(keys) && keys.every((key) => typeof key === "string")) return keys;
  throw new Error(`keys: expected a JSON array of texts, got ${JSON.stringify(text.slice(0, 100))}`);
}

/** Reads the question of a route; null without an address. Throws an error that names the wrong parameter. */
function parseQuestion(query: URLSearchParams): Question | null {
  const text = query.get("address");
  if (!text) return null;
  const address = parseAddress(text);
  if (!address) throw new Error(`address: ${wrongAddress}, got ${JSON.stringify(text.slice(0, 100))}`);
  const asked = query.get("block");
  const block = !asked || asked === "latest" ? undefined : parseNumber(asked);
  if (block === null) throw new Error(`block: expected the number of a Tx block or latest, got ${JSON.stringify(asked!.slice(0, 100))}`);
  const field = query.get("field");
  return { claim: { address, ...(field && { field, keys: parseKeys(query.get("keys")) }) }, block };
}

interface Run extends Question {
  given?: Given;
}

export default function ProofPage() {
  const ready = usePin();
  const query = route.value.query.toString();
  const pasted = useSignal<{ id: number; of: string; run: Run } | null>(null);
  const text = useSignal("");
  // The form can ask for the same route again, for example after a new block.
  const requests = useSignal(0);
  const asked = useMemo(() => {
    try {
      return { run: parseQuestion(route.peek().query) };
    } catch (error) {
      return { error: error as Error, run: null };
    }
  }, [query]);
  // Data of the reader belong to the route that was shown with them.
  const own = pasted.value?.of === query ? pasted.value : null;
  const run: Run | null = own?.run ?? asked.run;
  const report = useSignal<Report | undefined>(undefined);
  return (
    <Page title="Proof" lead="This browser verifies a value of the state with signatures and hashes. It does not trust the node that sends the proof.">
      {asked.error && <Failure error={asked.error} />}
      <Loaded of={ready}>
        {() =>
          run && (
            <Result
              run={run}
              id={`${query} ${requests.value} ${own?.id ?? ""} ${JSON.stringify(pin.value)}`}
              onReport={(next) => (report.value = next)}
              edit={(data) => {
                text.value = data;
                document.getElementById("own")?.scrollIntoView();
                announce("The data are in the form below");
              }}
            />
          )
        }
      </Loaded>
      <Question
        key={query}
        question={asked.run}
        onAsk={() => {
          pasted.value = null;
          requests.value += 1;
        }}
      />
      <PinPanel report={run ? report.value : undefined} />
      <Own
        text={text.value}
        onText={(next) => (text.value = next)}
        verify={(next) => (pasted.value = { id: (pasted.value?.id ?? 0) + 1, of: query, run: next })}
        question={asked.run}
      />
    </Page>
  );
}

/** The form that asks the node for a proof. */
function Question({ question, onAsk }: { question: Question | null; onAsk: () => void }) {
  const address = useSignal(question ? `0x${question.claim.address}` : "");
  const field = useSignal(question?.claim.field ?? "");
  const keys = useSignal<string[]>(question?.claim.keys ?? []);
  const block = useSignal(question?.block ?? "");
  const error = useSignal<string | null>(null);
  const hex = parseAddress(address.value);
  const found = useResource(hex ?? "", async (signal) => (hex ? (await call("silica_getContractInterface", [hex], signal)).fields : []));
  const declared = found.value?.find(({ vname }) => vname === field.value);
  const types = useMemo(() => (declared ? keyTypes(parseType(declared.type)) : null), [declared]);
  const count = types ? types.length : field.value === "_depth" || field.value === "_type" ? 1 : metadata.includes(field.value) ? 0 : keys.value.length + 1;
  const submit = (event: Event) => {
    event.preventDefault();
    error.value = hex ? null : wrongAddress;
    if (!hex) return;
    const given = keys.value.slice(0, count).map((key, place) => keyText(key, types?.[place]));
    const filled = given.slice(0, given.findLastIndex((key) => key !== "") + 1);
    scrollTo(0, 0);
    onAsk();
    go(["proof"], {
      address: `0x${hex}`,
      ...(field.value && { field: field.value }),
      ...(field.value && filled.length && { keys: JSON.stringify(filled) }),
      ...(block.value.trim() && { block: block.value.trim() }),
    });
  };
  return (
    <Section title="What to prove">
      <form class="narrow" onSubmit={submit}>
        <TextField
          label="Address"
          hint="An account or a contract. Only a contract has fields."
          placeholder="zil1… or 0x…"
          value={address.value}
          error={error.value}
          onValue={(text) => (address.value = text)}
        />
        <TextField
          label="Field"
          hint="Without a field, the proof is of the account: its balance, nonce and code."
          list="proof-fields"
          value={field.value}
          onValue={(text) => (field.value = text.trim())}
        />
        <datalist id="proof-fields">
          {[...(found.value ?? []).map(({ vname }) => vname), ...metadata].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {field.value &&
          Array.from({ length: Math.min(count, 20) }, (_, place) => (
            <TextField
              key={place}
              label={
                <>
                  {count > 1 ? `Key ${place + 1}` : "Key"} {types && <span class="type">{printType(types[place]!)}</span>}
                </>
              }
              hint={place === 0 ? "As text without quotes. Without a key, the proof is of the field itself." : undefined}
              value={keys.value[place] ?? ""}
              onValue={(text) => (keys.value = Array.from({ length: Math.max(keys.value.length, place + 1) }, (_, at) => (at === place ? text : (keys.value[at] ?? ""))))}
            />
          ))}
        <TextField label="Tx block" placeholder="latest" inputMode="numeric" value={block.value} onValue={(text) => (block.value = text)} />
        <button type="submit" class="primary">
          Get a proof and verify it
        </button>
      </form>
    </Section>
  );
}

/** The stored form of a key. The storage has addresses as digits, and other bytes in lower case. */
function keyText(text: string, type: Type | undefined): string {
  if (!type) return text;
  const name = printType(type);
  if (!name.startsWith("ByStr")) return text;
  const address = name.startsWith("ByStr20") ? parseAddress(text) : null;
  if (address) return `0x${address}`;
  return text && `0x${text.trim().replace(/^0x/i, "").toLowerCase()}`;
}

/** Runs a check, and shows its report. */
function Result({ run, id, onReport, edit }: { run: Run; id: string; onReport: (report: Report | undefined) => void; edit: (data: string) => void }) {
  const progress = useSignal("");
  const result = useResource(id, async (signal) => {
    onReport(undefined);
    progress.value = "";
    const { claim, given } = run;
    const number = given?.txBlock !== undefined ? run.block : (run.block ?? (await latestBlock(signal)));
    const node = nodeSource(number ?? "0", claim, signal);
    const report = await check(pin.peek()!, given ? givenSource(given, node) : node, {
      number,
      claim,
      signal,
      progress: (text) => (progress.value = text),
    });
    onReport(report);
    return report;
  });
  return (
    <Section title="Result">
      {result.loading && progress.value && <p class="muted">Checking: {progress.value}</p>}
      <Loaded of={result}>{(report) => <Checked report={report} claim={run.claim} edit={edit} />}</Loaded>
    </Section>
  );
}

function Checked({ report, claim, edit }: { report: Report; claim: Claim; edit: (data: string) => void }) {
  const { account, value, block } = report;
  const name = nameOf(claim);
  const what = name === undefined ? "The account" : name;
  const absent = name === undefined ? account === null : value === null;
  const after = `after Tx block ${block?.number}`;
  const valid = absent ? `Absence proven: ${name === undefined ? "the state has no such account" : `${what} has no value`} ${after}.` : `Proven: ${what} has this value ${after}.`;
  const contract = account?.contract;
  return (
    <>
      <Verdict of={report} valid={name === undefined && !absent ? `Proven: the account has this balance and nonce ${after}.` : valid} />
      {report.valid && (
        <>
          {value && (
            <>
              <h3>
                Value <Copy text={typeof value.json === "string" ? value.json : JSON.stringify(value.json)} label="Copy the value" />
              </h3>
              <Value value={value.json} />
            </>
          )}
          {value === null && (
            <p class="muted">
              The proof is about exactly this spelling of the name and the keys.
              {claim.field && !claim.keys?.length && " A map with entries has no value of its own: prove an entry by its keys."}
            </p>
          )}
          <h3>Account</h3>
          <Facts
            rows={[
              ["Address", <Address hex={claim.address} />],
              account ? ["Balance", <Amount qa={account.balance.toString()} />] : ["Account", "does not exist"],
              account ? ["Nonce", account.nonce.toString()] : null,
              contract ? ["Code hash", <Hash value={contract.codeHash} />] : null,
              contract ? ["Storage root", contract.storageRoot ? <Hash value={contract.storageRoot} /> : "none"] : null,
              block && ["Tx block", <BlockLink number={block.number.toString()} />],
            ]}
          />
        </>
      )}
      <h3>Steps</h3>
      <Steps steps={report.steps} />
      {report.valid && <Assumed of={report} />}
      {report.file && <Files report={report} claim={claim} edit={edit} />}
    </>
  );
}

function Files({ report, claim, edit }: { report: Report; claim: Claim; edit: (data: string) => void }) {
  const note = useSignal("");
  const name = `proof-${claim.address.slice(0, 8)}-${claim.field?.replace(/\W/g, "") ?? "account"}-${report.block!.number}`;
  const data = () => JSON.stringify(report.file, null, 1);
  const page = async () => {
    const { proofPage } = await import("silica-proof/page");
    const make = ({ bundle, trust }: NonNullable<Report["file"]>) => proofPage(bundle, trust);
    let html: string;
    note.value = "";
    try {
      html = make(report.file!);
    } catch (error) {
      if (!(error as Error).message.startsWith("page:")) throw error;
      html = make(report.shortFile!);
      note.value = `The file begins at DS block ${report.dsBlock!.number}, because all DS blocks from the pinned one are too large for a file.`;
    }
    save(html, `${name}.html`, "text/html");
  };
  return (
    <>
      <h3>Files</h3>
      <p class="muted">
        The HTML file contains the proof and the verifier. It verifies without a network. A receiver of the file compares the hash under “Assumed”
        with another source.
      </p>
      <div class="buttons">
        <Action run={page}>Download as one HTML file</Action>
        <button type="button" onClick={() => save(data(), `${name}.json`, "application/json")}>
          Download the data as JSON
        </button>
        <button type="button" onClick={() => edit(data())}>
          Show the data in the form
        </button>
      </div>
      {note.value && <p role="status">{note.value}</p>}
    </>
  );
}

/** A proof that the reader has. */
function Own({ text, onText, verify, question }: { text: string; onText: (text: string) => void; verify: (run: Run) => void; question: Question | null }) {
  const error = useSignal<string | null>(null);
  const read = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > longestText) error.value = `expected a file of at most ${longestText} bytes, got ${file.size}`;
    else {
      const content = await file.text();
      onText(content);
      start(content);
    }
  };
  const start = (content: string) => {
    error.value = null;
    try {
      const pasted = parsePasted(content);
      if (pasted.kind === "bundle") verify({ claim: pasted.given.claim, block: undefined, given: pasted.given });
      else if (!question) throw new Error("expected a request with the form “What to prove” first: an answer alone does not name its address and field");
      else verify({ ...question, given: { claim: question.claim, proof: pasted.proof } });
      scrollTo(0, 0);
    } catch (cause) {
      error.value = (cause as Error).message;
    }
  };
  return (
    <Section title="Verify a proof that you have">
      <div id="own">
        <p>
          An answer of <code>GetStateProof</code> or <code>silica_getAccountProof</code> of any node, data of this page, or a downloaded file. This page uses its own verifier and your pinned
          DS block. An answer alone is about the address, field, keys and block of the latest request with the form above.
        </p>
        <Field label="File" hint="Choose a file, or drop one into the text.">
          {(attributes) => <input {...attributes} type="file" accept=".json,.html" onChange={(event) => read(event.currentTarget.files?.[0])} />}
        </Field>
        <Field label="Proof" error={error.value}>
          {(attributes) => (
            <textarea
              {...attributes}
              rows={8}
              spellcheck={false}
              value={text}
              onInput={(event) => onText(event.currentTarget.value)}
              onDrop={(event) => {
                if (!event.dataTransfer?.files.length) return;
                event.preventDefault();
                void read(event.dataTransfer.files[0]);
              }}
            />
          )}
        </Field>
        <button type="button" onClick={() => start(text)}>
          Verify
        </button>
      </div>
    </Section>
  );
}
