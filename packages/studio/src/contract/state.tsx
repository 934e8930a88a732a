// The state of a contract at one block: its fields, and the entries of its maps.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { settings } from "../node.ts";
import { Facts, Loaded } from "../parts/data.tsx";
import { Action } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Input, ScillaField, TypeText } from "../parts/scilla.tsx";
import { BlockLink, ChainText, Copy } from "../parts/text.tsx";
import { VirtualRows } from "../parts/virtual.tsx";
import { useResource } from "../resource.ts";
import { link } from "../router.ts";
import { call } from "../rpc/client.ts";
import { head } from "../rpc/socket.ts";
import type { ContractInterface, FieldInfo, StateEntry } from "../rpc/types.ts";
import { innermost, keyTypes, parseType, printType, type Type } from "../scilla/types.ts";
import { type DataTypes, emptyForm, type Form, fromJson, toJson } from "../scilla/values.ts";
import { LastChange } from "./changed.tsx";
import { Entries } from "./entries.ts";

interface StateProps {
  address: string;
  interface: ContractInterface;
  known: DataTypes;
}

export function State({ address, interface: of, known }: StateProps) {
  // All requests of the tab read the state after this block.
  const block = useResource(`state ${address}`, async (signal) => (await call("silica_getSmartContractStatePage", [address, null, null, 1], signal)).block);
  return (
    <Loaded of={block}>
      {(number) => {
        const latest = head.value?.number;
        return (
          <Section
            title="State"
            action={
              <button type="button" onClick={block.reload}>
                Reload
              </button>
            }
          >
            <p class="muted">
              State after block <BlockLink number={number} />.{" "}
              {latest !== undefined && latest > Number(number) && <>The chain is at block {formatNumber(latest)}, so the state can have moved on.</>}
            </p>
            {of.fields.length === 0 && <p class="muted">The contract has no fields.</p>}
            {of.fields.map((field) => (
              <Field key={field.vname} address={address} field={field} block={number} known={known} reload={block.reload} />
            ))}
          </Section>
        );
      }}
    </Loaded>
  );
}

interface FieldProps {
  address: string;
  field: FieldInfo;
  block: string;
  known: DataTypes;
  reload: () => void;
}

/** What a person opened: an entry of a map, a whole field, or a new entry without a value. */
interface Opened {
  keys: string[];
  value: unknown;
}

function Field(props: FieldProps) {
  const { field } = props;
  const type = useMemo(() => parseType(field.type), [field.type]);
  const opened = useSignal<Opened | null>(null);
  const open = (entry: Opened) => (opened.value = entry);
  return (
    <div class="state-field">
      <h3>
        <ChainText text={field.vname} limit={100} /> <TypeText text={field.type} />
      </h3>
      {field.documentation && <Documentation text={field.documentation} />}
      {type.kind === "map" ? <MapField {...props} type={type} open={open} /> : <PlainField {...props} open={open} />}
      {opened.value && <EntryDialog {...props} type={type} {...opened.value} close={() => (opened.value = null)} />}
    </div>
  );
}

/** A comment of the source, as text. */
export const Documentation = ({ text }: { text: string }) => (
  <p class="documentation">
    <ChainText text={text} limit={600} />
  </p>
);

/** The state at the block of the tab cannot be read any more, or another failure. */
function Moved({ error, reload }: { error: Error; reload: () => void }) {
  return (
    <div class="failure" role="alert">
      <span>The state cannot be read at this block: {error.message}</span>
      <button type="button" onClick={reload}>
        Reload the latest state
      </button>
    </div>
  );
}

function PlainField({ address, field, block, reload, open }: FieldProps & { open: (entry: Opened) => void }) {
  const page = useResource(`${address} ${field.vname} ${block}`, (signal) =>
    call("silica_getSmartContractStatePage", [address, field.vname, null, 1, block], signal),
  );
  if (page.error) return <Moved error={page.error} reload={reload} />;
  const entry = page.value?.entries[0];
  if (!entry) return <p class="muted">{page.loading ? "Loading…" : "No value."}</p>;
  return <EntryButton entry={entry} open={open} />;
}

function MapField(props: FieldProps & { type: Type; open: (entry: Opened) => void }) {
  const { address, field, block, open, type, reload } = props;
  const shown = useSignal(false);
  return (
    <details onToggle={(event) => (shown.value = event.currentTarget.open)}>
      <summary>Entries</summary>
      {shown.value && (
        <>
          <FindEntry key={block} {...props} />
          <EntryList key={`${address} ${block}`} address={address} field={field.vname} block={block} open={open} reload={reload} />
          {settings.value?.developerMethods && <NewEntry type={type} known={props.known} open={open} />}
        </>
      )}
    </details>
  );
}

function EntryList({ address, field, block, open, reload }: {
  address: string;
  field: string;
  block: string;
  open: (entry: Opened) => void;
  reload: () => void;
}) {
  const entries = useMemo(() => new Entries(address, field, block), []);
  useEffect(() => {
    entries.want(0, 1);
    return () => entries.stop();
  }, []);
  void entries.version.value;
  const { count, more, error } = entries;
  return (
    <>
      <p class="muted" role="status">
        {!error && (count === 0 && !more ? "The map is empty." : `${formatNumber(count)} entries read${more ? ", more follow" : ", all of the map"}.`)}
      </p>
      {error && <Moved error={error} reload={reload} />}
      {count > 0 && (
        <VirtualRows
          label={`Entries of ${field.slice(0, 100)}`}
          count={count}
          more={more}
          onRange={(first, end) => entries.want(first, end)}
          row={(place) => {
            const entry = entries.at(place);
            return entry ? <EntryButton entry={entry} open={open} /> : <span class="muted">Loading…</span>;
          }}
        />
      )}
    </>
  );
}

const previewLength = 160;

/** The start of a value as JSON. A large value is not converted as a whole. */
export function preview(value: unknown, limit = previewLength): string {
  let text = "";
  const add = (part: unknown) => {
    if (text.length > limit) return;
    if (Array.isArray(part)) {
      text += "[";
      for (let place = 0; place < part.length && text.length <= limit; place += 1) {
        if (place) text += ",";
        add(part[place]);
      }
      text += "]";
    } else if (typeof part === "object" && part !== null) {
      const { constructor: name, arguments: values } = part as { constructor?: unknown; arguments?: unknown };
      if (Object.hasOwn(part, "constructor") && typeof name === "string" && Array.isArray(values)) {
        // A constructor reads better than its JSON.
        text += name.slice(name.lastIndexOf(".") + 1, limit);
        for (const inner of values.slice(0, limit)) {
          text += " ";
          add(inner);
        }
      } else text += JSON.stringify(part).slice(0, limit);
    } else if (typeof part === "string") text += JSON.stringify(part.slice(0, limit));
    else text += String(part);
  };
  if (typeof value === "string") text = value.slice(0, limit + 1);
  else add(value);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

const keysText = (indices: string[]): string => {
  const text = indices.map((index) => index.slice(0, previewLength)).join(" › ");
  return text.length > previewLength ? `${text.slice(0, previewLength)}…` : text;
};

/** An entry in one row. Its dialog has the whole value. */
function EntryButton({ entry: { indices, value }, open }: { entry: StateEntry; open: (entry: Opened) => void }) {
  return (
    <button type="button" class="entry" aria-haspopup="dialog" onClick={() => open({ keys: indices, value })}>
      {indices.length > 0 && (
        <span class="entry-key">
          <ChainText text={keysText(indices)} limit={Infinity} />
        </span>
      )}
      <span class="entry-value">
        <ChainText text={preview(value) || '""'} limit={Infinity} />
      </span>
    </button>
  );
}

/** Returns the texts of keys as the node expects them: without quotes. */
function keyTexts(types: Type[], forms: Form[], known: DataTypes): string[] {
  return types.map((type, place) => String(toJson(type, forms[place]!, known)));
}

/** Inputs for the keys of a map. */
function Keys({ types, forms, known, onForms }: { types: Type[]; forms: Form[]; known: DataTypes; onForms: (forms: Form[]) => void }) {
  return (
    <>
      {types.map((type, place) => (
        <Input
          key={place}
          label={
            <>
              {types.length > 1 ? `Key ${place + 1}` : "Key"} <TypeText text={printType(type)} />
            </>
          }
          type={type}
          form={forms[place]!}
          known={known}
          onForm={(form) => onForms(forms.with(place, form))}
        />
      ))}
    </>
  );
}

/** Finds an entry by all its keys, in the latest state. */
function FindEntry({ address, field, type, known, open }: FieldProps & { type: Type; open: (entry: Opened) => void }) {
  const types = useMemo(() => keyTypes(type), [type]);
  const forms = useSignal(types.map((key) => emptyForm(key, known)));
  const result = useSignal<{ keys: string[]; value: unknown } | null>(null);
  const find = async () => {
    result.value = null;
    const keys = keyTexts(types, forms.value, known);
    const answer = await call("GetSmartContractSubState", [address, field.vname, keys]);
    let value: unknown = answer;
    for (const key of [field.vname, ...keys]) {
      value = typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
    }
    result.value = { keys, value };
  };
  return (
    <div class="find">
      <Keys types={types} forms={forms.value} known={known} onForms={(next) => (forms.value = next)} />
      <Action run={find}>Find by key</Action>
      <div role="status">
        {result.value &&
          (result.value.value === undefined ? (
            <p class="muted">The latest state has no entry with this key.</p>
          ) : (
            <EntryButton entry={{ variable: field.vname, indices: result.value.keys, value: result.value.value }} open={open} />
          ))}
      </div>
    </div>
  );
}

/** Opens the dialog of an entry that may not exist yet. */
function NewEntry({ type, known, open }: { type: Type; known: DataTypes; open: (entry: Opened) => void }) {
  const types = useMemo(() => keyTypes(type), [type]);
  const forms = useSignal(types.map((key) => emptyForm(key, known)));
  return (
    <details>
      <summary>Add an entry</summary>
      <Keys types={types} forms={forms.value} known={known} onForms={(next) => (forms.value = next)} />
      <Action run={async () => open({ keys: keyTexts(types, forms.value, known), value: undefined })}>Set a value…</Action>
    </details>
  );
}

/** The whole value of an entry, with its proof, and its edit on a developers' node. */
function EntryDialog({ address, field, block, keys, value, type, known, reload, close }: FieldProps & Opened & { type: Type; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const valueType = keys.length ? innermost(type, keys.length) : type;
  const text = useMemo(() => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2)), [value]);
  return (
    <dialog ref={dialog} class="wide" aria-label="Value of the state" onClose={close}>
      <Facts
        rows={[
          ["Field", <ChainText text={field.vname} limit={200} />],
          keys.length > 0 && [
            keys.length > 1 ? "Keys" : "Key",
            <>
              {keys.map((key, place) => (
                <div key={place}>
                  <ChainText text={key} limit={400} /> <Copy text={key} label={`Copy key ${place + 1}`} />
                </div>
              ))}
            </>,
          ],
          ["Type", <TypeText text={printType(valueType)} />],
        ]}
      />
      {value !== undefined && (
        <>
          <h3>
            Value <Copy text={text} label="Copy the value" />
          </h3>
          <pre tabIndex={0} role="region" aria-label="Value">
            <ChainText text={text} />
          </pre>
          <p>
            <a href={link(["proof"], { address: `0x${address}`, field: field.vname, ...(keys.length > 0 && { keys: JSON.stringify(keys) }), block })} onClick={close}>
              Prove this value
            </a>
          </p>
        </>
      )}
      <LastChange address={address} field={field.vname} keys={keys} block={block} />
      {settings.value?.developerMethods && (
        <EditEntry address={address} field={field.vname} keys={keys} value={value} type={valueType} known={known} done={() => (reload(), close())} />
      )}
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

/** A longer text makes an input slow. Its edit begins with an empty input. */
const longestEdit = 100_000;

const tooLong = (value: unknown): boolean => typeof value === "string" && value.length > longestEdit;

function startForm(type: Type, value: unknown, known: DataTypes): Form {
  if (value === undefined || tooLong(value)) return emptyForm(type, known);
  // The state has an empty map as an object.
  if (type.kind === "map") return emptyForm(type, known);
  try {
    return fromJson(type, value, known);
  } catch {
    return { kind: "json", text: JSON.stringify(value, null, 1), form: emptyForm(type, known) };
  }
}

/** Sets the value, in a block of its own. */
function EditEntry({ address, field, keys, value, type, known, done }: {
  address: string;
  field: string;
  keys: string[];
  value: unknown;
  type: Type;
  known: DataTypes;
  done: () => void;
}) {
  const form = useSignal<Form>(useMemo(() => startForm(type, value, known), []));
  return (
    <details open={value === undefined}>
      <summary>Edit as a developer</summary>
      <p class="muted">The node sets the value in a block of its own. To undo the edit, revert to a savepoint from before it.</p>
      {tooLong(value) && <p class="muted">The present value is too long for the input, which is empty therefore.</p>}
      <ScillaField name="value" type={type} form={form.value} known={known} onForm={(next) => (form.value = next)} />
      <Action
        run={async () => {
          await call("silica_setContractField", [address, field, keys, toJson(type, form.value, known)]);
          done();
        }}
      >
        Set the value
      </Action>{" "}
      {keys.length > 0 && value !== undefined && (
        <Action
          run={async () => {
            await call("silica_setContractField", [address, field, keys, null]);
            done();
          }}
        >
          Remove the entry
        </Action>
      )}
    </details>
  );
}
