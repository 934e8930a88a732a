// Inputs for values of each type of Scilla.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatAmount, formatNumber, type Unit } from "../format/amount.ts";
import { toChecksum } from "../format/checksum.ts";
import { printType, type Type } from "../scilla/types.ts";
import {
  constructorsOf,
  type DataTypes,
  emptyForm,
  type Form,
  FormError,
  fromJson,
  newId,
  shortName,
  textValue,
  toJson,
  withConstructor,
} from "../scilla/values.ts";
import { addressBook } from "./addresses.tsx";
import { Field } from "./form.tsx";
import { ChainText } from "./text.tsx";

interface InputProps {
  label: ComponentChildren;
  type: Type;
  form: Form;
  onForm: (form: Form) => void;
  known: DataTypes;
}

/** The text of a type without the modules of its data types. */
export const TypeText = ({ text }: { text: string }) => (
  <span class="type" title={text.length > 1_000 ? undefined : text}>
    <ChainText text={text.replace(/\b(0x[0-9a-f]{40}|contract|library)\./g, "")} limit={200} />
  </span>
);

/** A parameter with its type: inputs, or its JSON. The JSON stays as it was typed. */
export function ScillaField({ name, type, form, onForm, known }: Omit<InputProps, "label"> & { name: string }) {
  const error = useSignal<string | null>(null);
  const label = (
    <>
      <ChainText text={name} limit={100} /> <TypeText text={printType(type)} />
    </>
  );
  const onlyJson = type.kind === "opaque" || type.kind === "variable";
  const toggle = () => {
    error.value = null;
    if (form.kind !== "json") return onForm({ kind: "json", text: jsonOf(type, form, known), form });
    if (!form.text.trim()) return onForm(form.form);
    try {
      const read = fromJson(type, JSON.parse(form.text), known);
      onForm(read.kind === "text" && form.form.kind === "text" && form.form.unit ? { ...read, unit: "Qa" } : read);
    } catch (cause) {
      error.value = `The form cannot show this JSON: ${(cause as Error).message}`;
    }
  };
  return (
    <div class="param">
      {form.kind === "json" ? (
        <JsonInput label={label} form={form} onForm={onForm} error={error.value} />
      ) : (
        <Input label={label} type={type} form={form} onForm={onForm} known={known} />
      )}
      {!onlyJson && (
        <button type="button" class="link" onClick={toggle}>
          {form.kind === "json" ? "as form" : "as JSON"}
          <span class="visually-hidden"> {name.slice(0, 100)}</span>
        </button>
      )}
    </div>
  );
}

/** The JSON of a form; empty if the form has no value yet. */
function jsonOf(type: Type, form: Form, known: DataTypes): string {
  try {
    return JSON.stringify(toJson(type, form, known), null, 1);
  } catch {
    return "";
  }
}

function JsonInput({ label, form, onForm, error }: {
  label: ComponentChildren;
  form: Form & { kind: "json" };
  onForm: (form: Form) => void;
  error: string | null;
}) {
  const left = useSignal(false);
  const problem = left.value ? problemOf(() => void JSON.parse(form.text || "null")) : null;
  return (
    <Field label={label} error={error ?? (problem && `expected JSON: ${problem}`)}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={4}
          value={form.text}
          spellcheck={false}
          onInput={(event) => onForm({ ...form, text: event.currentTarget.value })}
          onBlur={() => (left.value = true)}
        />
      )}
    </Field>
  );
}

function problemOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return error instanceof FormError ? error.problem : (error as Error).message;
  }
}

/** The inputs of a value. */
export function Input(props: InputProps) {
  const { type, form, label, onForm } = props;
  switch (form.kind) {
    case "bool":
      return (
        <div class="field">
          <label>
            <input type="checkbox" checked={form.on} onChange={(event) => onForm({ kind: "bool", on: event.currentTarget.checked })} /> {label}
          </label>
        </div>
      );
    case "list":
      return type.kind === "adt" ? <ListInput {...props} form={form} element={type.arguments[0]!} /> : null;
    case "map":
      return type.kind === "map" ? <MapInput {...props} form={form} type={type} /> : null;
    case "adt":
      return type.kind === "adt" ? <DataInput {...props} form={form} type={type} /> : null;
    case "json":
      return <JsonInput label={label} form={form} onForm={onForm} error={null} />;
    case "text":
      return <TextInput {...props} form={form} />;
  }
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const countOfBytes = (count: number): string => `${formatNumber(count)} ${count === 1 ? "byte" : "bytes"}`;

const isAddress = (type: Type): boolean => type.kind === "address" || (type.kind === "bytes" && type.width === 20);

/** Hexadecimal digits of an address in mixed letter case have a checksum. A wrong one is often a typing error. */
function checksumWarning(text: string): string | null {
  const digits = text.trim().replace(/^0x/, "");
  if (!/^[0-9a-fA-F]{40}$/.test(digits) || !/[a-f]/.test(digits) || !/[A-F]/.test(digits)) return null;
  return toChecksum(digits.toLowerCase()) === `0x${digits}` ? null : "The letter case is not the checksum of this address. Compare the digits.";
}

function hintOf(type: Type, form: Form & { kind: "text" }): string | null {
  if (type.kind === "string") return countOfBytes(bytesOf(form.text));
  if (isAddress(type)) return checksumWarning(form.text);
  if (type.kind === "bytes") {
    const bytes = Math.floor(form.text.trim().replace(/^0x/, "").length / 2);
    return `${type.width === null ? "" : `${formatNumber(bytes)} of `}${countOfBytes(type.width ?? bytes)}, hexadecimal`;
  }
  if (form.unit && form.unit !== "Qa" && form.text.trim()) {
    try {
      return formatAmount(textValue(type, form.text, form.unit), "Qa");
    } catch {
      return null;
    }
  }
  return null;
}

function TextInput({ label, type, form, onForm }: InputProps & { form: Form & { kind: "text" } }) {
  // A person who is still typing needs no error.
  const left = useSignal(false);
  const problem = left.value ? problemOf(() => void textValue(type, form.text, form.unit)) : null;
  const set = (text: string) => onForm({ ...form, text });
  const address = isAddress(type);
  const shared = { value: form.text, autocomplete: "off", spellcheck: false, onBlur: () => (left.value = true) };
  return (
    <Field label={label} hint={hintOf(type, form)} error={problem}>
      {(attributes) =>
        type.kind === "string" || (type.kind === "bytes" && !address) ? (
          <textarea
            {...attributes}
            {...shared}
            rows={form.text.length > 80 ? 4 : 1}
            onInput={(event) => set(event.currentTarget.value)}
            onDrop={type.kind === "bytes" ? (event) => dropBytes(event, set) : undefined}
          />
        ) : (
          <span class="with-unit">
            <input
              {...attributes}
              {...shared}
              type="text"
              inputMode={address ? "text" : form.unit && form.unit !== "Qa" ? "decimal" : "numeric"}
              list={address ? addressBook : undefined}
              placeholder={address ? "zil1… or 0x…" : undefined}
              onInput={(event) => set(event.currentTarget.value)}
            />
            {form.unit && <UnitSelect type={type} form={form} onForm={onForm} />}
          </span>
        )
      }
    </Field>
  );
}

const units: Unit[] = ["ZIL", "Li", "Qa"];

/** The unit of an amount. A typed amount keeps its value. */
function UnitSelect({ type, form, onForm }: { type: Type; form: Form & { kind: "text" }; onForm: (form: Form) => void }) {
  const change = (unit: Unit) => {
    let text = form.text;
    try {
      text = formatAmount(textValue(type, form.text, form.unit), unit).replace(/[^\d.]/g, "");
    } catch {
      // A text without a value stays.
    }
    onForm({ kind: "text", text, unit });
  };
  return (
    <select aria-label="Unit" value={form.unit} onChange={(event) => change(event.currentTarget.value as Unit)}>
      {units.map((unit) => (
        <option key={unit}>{unit}</option>
      ))}
    </select>
  );
}

/** Puts the bytes of a dropped file into an input. */
function dropBytes(event: DragEvent, set: (text: string) => void): void {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  // The largest request of a node has 5 MiB, and two digits stand for a byte.
  if (file.size > 2_500_000) return;
  void file.arrayBuffer().then((buffer) => {
    set(`0x${Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("")}`);
  });
}

// More inputs at once would make the page slow.
const pageOfRows = 50;

/** The rows of a list or map, with buttons to add, move and remove them. */
function Rows<T extends { id: number }>({ label, type, rows, onRows, add, addLabel, children }: {
  label: ComponentChildren;
  type: string;
  rows: T[];
  onRows: (rows: T[]) => void;
  add: () => T;
  addLabel: string;
  children: (row: T, place: number, set: (row: T) => void) => ComponentChildren;
}) {
  const shown = useSignal(pageOfRows);
  const change = (place: number, count: number, ...rest: T[]) => onRows(rows.toSpliced(place, count, ...rest));
  return (
    <fieldset>
      <legend>{label}</legend>
      {rows.length === 0 && <p class="muted">Empty {type}.</p>}
      {rows.slice(0, shown.value).map((row, place) => (
        <div key={row.id} class="row">
          <div class="row-inputs">{children(row, place, (changed) => change(place, 1, changed))}</div>
          <div class="row-buttons">
            <button type="button" aria-label={`Move ${place + 1} up`} disabled={place === 0} onClick={() => change(place - 1, 2, row, rows[place - 1]!)}>
              ↑
            </button>
            <button type="button" aria-label={`Move ${place + 1} down`} disabled={place === rows.length - 1} onClick={() => change(place, 2, rows[place + 1]!, row)}>
              ↓
            </button>
            <button type="button" aria-label={`Remove ${place + 1}`} onClick={() => change(place, 1)}>
              ✕
            </button>
          </div>
        </div>
      ))}
      {rows.length > shown.value && (
        <button type="button" onClick={() => (shown.value += pageOfRows)}>
          Show more of {formatNumber(rows.length)}
        </button>
      )}
      <button
        type="button"
        onClick={() => {
          onRows([...rows, add()]);
          // The new row is visible.
          if (rows.length >= shown.value) shown.value = rows.length + 1;
        }}
      >
        {addLabel}
      </button>
    </fieldset>
  );
}

function ListInput({ label, form, onForm, known, element }: InputProps & { form: Form & { kind: "list" }; element: Type }) {
  return (
    <Rows
      label={label}
      type="list"
      rows={form.rows}
      onRows={(rows) => onForm({ kind: "list", rows })}
      add={() => ({ id: newId(), form: emptyForm(element, known) })}
      addLabel="Add an element"
    >
      {(row, place, set) => (
        <Input label={`${place + 1}`} type={element} form={row.form} known={known} onForm={(changed) => set({ ...row, form: changed })} />
      )}
    </Rows>
  );
}

function MapInput({ label, type, form, onForm, known }: InputProps & { form: Form & { kind: "map" }; type: Type & { kind: "map" } }) {
  return (
    <Rows
      label={label}
      type="map"
      rows={form.entries}
      onRows={(entries) => onForm({ kind: "map", entries })}
      add={() => ({ id: newId(), key: emptyForm(type.key, known), value: emptyForm(type.value, known) })}
      addLabel="Add an entry"
    >
      {(entry, place, set) => (
        <>
          <Input label={`Key ${place + 1}`} type={type.key} form={entry.key} known={known} onForm={(key) => set({ ...entry, key })} />
          <Input label={`Value ${place + 1}`} type={type.value} form={entry.value} known={known} onForm={(value) => set({ ...entry, value })} />
        </>
      )}
    </Rows>
  );
}

/** A value of a data type: the choice of the constructor, and its arguments. */
function DataInput({ label, type, form, onForm, known }: InputProps & { form: Form & { kind: "adt" }; type: Type & { kind: "adt" } }) {
  const constructors = constructorsOf(type, known);
  const chosen = constructors.find(({ name }) => name === form.name);
  const choose = (name: string) => {
    const next = constructors.find((one) => one.name === name);
    onForm(next ? withConstructor(next, known) : { kind: "adt", name: "", arguments: [] });
  };
  const parts = chosen?.arguments.map((argument, place) => {
    const set = (changed: Form) => onForm({ ...form, arguments: form.arguments.with(place, changed) });
    const title = chosen.arguments.length === 1 ? "Value" : `Value ${place + 1}`;
    return (
      <Input
        key={`${form.name} ${place}`}
        label={
          <>
            {title} <TypeText text={printType(argument)} />
          </>
        }
        type={argument}
        form={form.arguments[place]!}
        known={known}
        onForm={set}
      />
    );
  });
  return (
    <fieldset>
      <legend>{label}</legend>
      {type.name === "Option" ? (
        <label>
          <input type="checkbox" checked={form.name === "Some"} onChange={(event) => choose(event.currentTarget.checked ? "Some" : "None")} /> has a value
        </label>
      ) : (
        (constructors.length > 1 || !chosen) && (
          <select aria-label={`Constructor of ${shortName(type.name)}`} value={form.name} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="">choose…</option>
            {constructors.map(({ name }) => (
              <option key={name} value={name}>
                {shortName(name).slice(0, 100)}
              </option>
            ))}
          </select>
        )
      )}
      {parts}
    </fieldset>
  );
}
