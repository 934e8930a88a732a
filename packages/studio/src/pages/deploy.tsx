// The deployment of a contract or library: source, libraries, init data, simulation.
import { signal, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { nullAddress, parseAddress } from "../format/address.ts";
import { ParamFields, parseParams, readParams, startForms } from "../contract/call.tsx";
import { Diagnostics, Editor, type EditorRef, select } from "../contract/editor.tsx";
import { importedLibraries } from "../contract/imports.ts";
import { InterfaceSummary } from "../contract/interface.tsx";
import { settings } from "../node.ts";
import { addressBook, AddressBook, useAccounts } from "../parts/addresses.tsx";
import { Failure } from "../parts/data.tsx";
import { Field } from "../parts/form.tsx";
import { Page, Section } from "../parts/page.tsx";
import { type Draft, Send, useSettled } from "../parts/send.tsx";
import { ChainText } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import type { ContractCheck, ContractInterface } from "../rpc/types.ts";
import { dataTypes, type Param } from "../scilla/values.ts";

// The text stays when a person looks at another page.
const source = signal("");
const libraries = signal<Record<string, string>>({});

/** The addresses of imported libraries by name, as far as they are known. */
function knownLibraries(names: string[]): Record<string, string> {
  const found = names.map((name) => [name, parseAddress(libraries.value[name] ?? "")] as const);
  return Object.fromEntries(found.flatMap(([name, address]) => (address ? [[name, `0x${address}`]] : [])));
}

export default function Deploy() {
  const editor = useRef<HTMLTextAreaElement>(null);
  const accounts = useAccounts();
  const imported = useMemo(() => importedLibraries(source.value), [source.value]);
  const given = knownLibraries(imported);
  const key = JSON.stringify([source.value, given]);
  const settled = useSettled(key);
  const check = useResource(`check ${settled}`, async (signal): Promise<ContractCheck | null> => {
    const [text, addresses] = JSON.parse(settled) as [string, Record<string, string>];
    return text.trim() ? await call("silica_checkContract", [text, { libraries: addresses }], signal) : null;
  });
  // The result of an earlier text has wrong positions.
  const result = settled === key ? check.value : undefined;
  const of = result?.interface;
  return (
    <Page title="Deploy" lead="Checks a contract or library while you type, and deploys it.">
      <AddressBook accounts={accounts.value} />
      <Section title="Source">
        <Editor
          source={source.value}
          onSource={(text) => (source.value = text)}
          editor={editor}
          diagnostics={result?.diagnostics ?? []}
          limit={settings.value?.limits.codeBytes}
        />
        {imported.map((name) => (
          <LibraryField key={name} name={name} />
        ))}
        <div role="status">
          {check.error ? (
            <Failure error={check.error} retry={check.reload} />
          ) : !source.value.trim() ? (
            <p class="muted">No source yet.</p>
          ) : !result ? (
            <p class="muted">Checking…</p>
          ) : (
            <>
              {result.diagnostics.length === 0 && <p class="good">✓ The checker found no error.</p>}
              <Diagnostics diagnostics={result.diagnostics} truncated={result.truncated} editor={editor} />
            </>
          )}
        </div>
      </Section>
      {of && <Deployment key={JSON.stringify(of.params)} interface={of} code={source.value} imported={imported} given={given} editor={editor} accounts={accounts.value} />}
    </Page>
  );
}

/** The address of an imported library. */
function LibraryField({ name }: { name: string }) {
  const left = useSignal(false);
  const text = libraries.value[name] ?? "";
  const wrong = left.value && !parseAddress(text);
  return (
    <Field
      label={
        <>
          Address of library <ChainText text={name} limit={100} />
        </>
      }
      error={wrong ? `expected an address as zil1… or 40 hexadecimal digits, got ${text.trim() ? JSON.stringify(text.slice(0, 100)) : "nothing"}` : null}
    >
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          list={addressBook}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => (libraries.value = { ...libraries.value, [name]: event.currentTarget.value })}
          onBlur={() => (left.value = true)}
        />
      )}
    </Field>
  );
}

/** The parameters that each deployment has. */
function fixedParams(of: ContractInterface, given: Record<string, string>): Param[] {
  const argtypes = ["String", "ByStr20"];
  const pairs = Object.entries(given).map((pair) => ({ constructor: "Pair", argtypes, arguments: pair }));
  return [
    { vname: "_scilla_version", type: "Uint32", value: of.scilla_major_version },
    ...(of.library ? [{ vname: "_library", type: "Bool", value: { constructor: "True", argtypes: [], arguments: [] } }] : []),
    ...(pairs.length ? [{ vname: "_extlibs", type: "List (Pair (String) (ByStr20))", value: pairs }] : []),
  ];
}

function Deployment({ interface: of, code, imported, given, editor, accounts }: {
  interface: ContractInterface;
  code: string;
  imported: string[];
  given: Record<string, string>;
  editor: EditorRef;
  accounts: Parameters<typeof Send>[0]["accounts"];
}) {
  const known = useMemo(() => dataTypes(of.ADTs), [of]);
  const params = useMemo(() => parseParams(of.params), []);
  const forms = useSignal(useMemo(() => startForms(params, known), []));
  const read = readParams(params, forms.value, known);
  const missing = imported.find((name) => !given[name]);
  const draft: Draft | { problem: string } = missing
    ? { problem: `library ${missing}: expected an address` }
    : "problem" in read
      ? read
      : { toAddr: `0x${nullAddress}`, amount: "0", code, data: JSON.stringify([...fixedParams(of, given), ...read]) };
  return (
    <>
      <InterfaceSummary interface={of} />
      <Section title="Init data">
        {params.length === 0 && <p class="muted">The deployment has no parameters.</p>}
        <ParamFields params={params} forms={forms.value} known={known} onForms={(next) => (forms.value = next)} />
      </Section>
      <Send
        what={`deployment of ${of.vname}`}
        draft={draft}
        accounts={accounts}
        source={code}
        showLine={(line) => (
          <button type="button" class="link" onClick={() => select(editor, { line, column: 1 }, null)}>
            line {line}
          </button>
        )}
      />
    </>
  );
}
