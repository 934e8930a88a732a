// The methods of the node, from its OpenRPC document: documentation, a form for each method, and the answer.
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { asCommand, asCurl, asJavaScript } from "../methods/copies.ts";
import { type Document, InputError, inputOf, type Method, paramsOf, type Schema, type Schemas, type Texts } from "../methods/schema.ts";
import { type Column, Failure, Loaded, Table } from "../parts/data.tsx";
import { Field, TextField } from "../parts/form.tsx";
import { announce } from "../parts/live.tsx";
import { Page, Section } from "../parts/page.tsx";
import { ChainText, Copy, Json } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { endpoint, exchange, request, requestBody } from "../rpc/client.ts";

/** The text of the filter. It stays while the method changes. */
const filter = signal("");

interface Sent {
  number: number;
  method: string;
  params: unknown[];
  outcome: string;
  ms: number;
  bytes: number;
}

/** The requests of this session, the latest first. */
const history = signal<Sent[]>([]);
const mostHistory = 50;
let sentRequests = 0;

/** The document has 100 KB, so it is read once. */
let document: Promise<Document> | undefined;

function readDocument(): Promise<Document> {
  document ??= request("rpc.discover", []).then(
    (read) => read as Document,
    (error: unknown) => {
      document = undefined;
      throw error;
    },
  );
  return document;
}

export default function Rpc() {
  const read = useResource("rpc.discover", readDocument);
  const name = route.value.path[1];
  return (
    <Page title={name ?? "RPC"} lead={name ? undefined : "The methods of this node, and a form for each of them."}>
      <Loaded of={read}>
        {({ methods, components }) => (
          <div class="rpc">
            <List methods={methods} current={name} />
            <div class="rpc-method">
              <Chosen methods={methods} schemas={components?.schemas ?? {}} name={name} />
              <History methods={methods} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function List({ methods, current }: { methods: Method[]; current: string | undefined }) {
  const wanted = filter.value.trim().toLowerCase();
  const found = methods.filter(({ name, summary = "" }) => `${name} ${summary}`.toLowerCase().includes(wanted));
  return (
    <div class="rpc-list">
      <TextField label="Filter" type="search" value={filter.value} onValue={(text) => (filter.value = text)} />
      <p class="muted" role="status">
        {found.length} of {methods.length} methods
      </p>
      <nav aria-label="Methods">
        {found.map(({ name }) => (
          <a key={name} href={link(["rpc", name])} aria-current={name === current ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
    </div>
  );
}

function Chosen({ methods, schemas, name }: { methods: Method[]; schemas: Schemas; name: string | undefined }) {
  if (!name) return <p>Select a method in the list.</p>;
  const method = methods.find((method) => method.name === name);
  if (!method) return <p>This node has no method {name}, or does not permit it for this page.</p>;
  return <Playground key={`${name} ${route.value.query.get("params")}`} method={method} schemas={schemas} />;
}

interface Answer {
  text: string;
  value: unknown;
  failed: boolean;
  ms: number;
  bytes: number;
}

/** Answers above this size are shown as they arrived, because their indented form takes too long. */
const mostIndented = 500_000;

function Playground({ method, schemas }: { method: Method; schemas: Schemas }) {
  const kept = route.value.query.get("params");
  const texts = useSignal<Texts>({});
  // Parameters as JSON replace the form.
  const raw = useSignal<string | null>(kept);
  const state = useSignal<{ running: boolean; wrong?: InputError; error?: Error; answer?: Answer }>({ running: false });
  const set = (path: string, text: string) => {
    texts.value = { ...texts.value, [path]: text };
    const { wrong: _wrong, ...rest } = state.value;
    state.value = rest;
  };
  const params = (): unknown[] => {
    if (raw.value === null) return paramsOf(method, texts.value, schemas);
    let parsed: unknown;
    try {
      parsed = JSON.parse(raw.value);
    } catch (error) {
      throw new InputError("raw", `expected JSON: ${(error as Error).message}`);
    }
    if (!Array.isArray(parsed)) throw new InputError("raw", `expected an array of parameters, got ${raw.value.slice(0, 100)}`);
    return parsed;
  };
  const send = async () => {
    let values: unknown[];
    try {
      values = params();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      state.value = { running: false, wrong: error };
      return;
    }
    state.value = { running: true };
    const start = performance.now();
    try {
      const { text } = await exchange(requestBody(method.name, values));
      const ms = performance.now() - start;
      const answer = readAnswer(text, ms);
      state.value = { running: false, answer };
      const outcome = answer.failed ? "error" : "result";
      remember({ method: method.name, params: values, outcome, ms, bytes: answer.bytes });
      announce(`${outcome} after ${Math.round(ms)} ms`);
    } catch (error) {
      state.value = { running: false, error: error as Error };
    }
  };
  const toggle = (on: boolean) => {
    if (!on) return (raw.value = null);
    let text = "[]";
    try {
      text = JSON.stringify(params(), null, 2);
    } catch {
      // A form with an error has no parameters yet.
    }
    return (raw.value = text);
  };
  const { wrong, error, answer, running } = state.value;
  return (
    <>
      <Documentation method={method} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {raw.value === null ? (
          method.params.map((parameter, index) => (
            <SchemaInput
              key={parameter.name}
              name={parameter.name}
              path={String(index)}
              schema={{ ...parameter.schema, ...(parameter.description ? { description: parameter.description } : {}) }}
              required={parameter.required ?? false}
              form={{ texts: texts.value, schemas, wrong, set }}
            />
          ))
        ) : (
          <Field label="Parameters" hint="A JSON array" error={wrong?.message}>
            {(attributes) => (
              <textarea {...attributes} rows={8} spellcheck={false} value={raw.value ?? ""} onInput={(event) => (raw.value = event.currentTarget.value)} />
            )}
          </Field>
        )}
        <div class="buttons">
          <button class="primary" disabled={running}>
            Send
          </button>
          <label>
            <input type="checkbox" checked={raw.value !== null} onChange={(event) => toggle(event.currentTarget.checked)} /> Parameters as JSON
          </label>
        </div>
      </form>
      <Copies method={method} schemas={schemas} params={params} />
      {error && <Failure error={error} />}
      {answer && <AnswerView answer={answer} />}
    </>
  );
}

function readAnswer(text: string, ms: number): Answer {
  const bytes = new TextEncoder().encode(text).length;
  try {
    const value = JSON.parse(text) as { error?: unknown; result?: unknown };
    const failed = value.error !== undefined;
    return { text, value: failed ? value.error : value.result, failed, ms, bytes };
  } catch {
    return { text, value: text, failed: true, ms, bytes };
  }
}

function remember(sent: Omit<Sent, "number">): void {
  history.value = [{ ...sent, number: ++sentRequests }, ...history.value].slice(0, mostHistory);
}

function Documentation({ method }: { method: Method }) {
  const weight = method["x-weight"];
  return (
    <>
      <p class="documentation">{method.description ?? method.summary}</p>
      <p class="muted">
        {method["x-for-developers"] ? "A method for developers" : "A method for all callers"}
        {weight !== undefined && ` · weight ${weight} for the rate limit`}
      </p>
    </>
  );
}

interface Form {
  texts: Texts;
  schemas: Schemas;
  wrong: InputError | undefined;
  set: (path: string, text: string) => void;
}

/** Names of texts with several lines. */
const longTexts = new Set(["code", "data", "source"]);

function SchemaInput({ name, path, schema, required, form }: { name: string; path: string; schema: Schema; required: boolean; form: Form }) {
  const input = inputOf(schema, form.schemas);
  const text = form.texts[path] ?? "";
  const label = (
    <>
      {name} <span class="muted">{required ? "" : "optional"}</span>
    </>
  );
  const error = form.wrong?.path === path ? form.wrong.message : null;
  const hint = (
    <>
      {input.description}
      {input.example !== undefined && (
        <>
          {input.description && " "}Example: <code>{input.example}</code>
        </>
      )}
    </>
  );
  const fields = { label, hint, error };
  const set = (value: string) => form.set(path, value);
  if (input.kind === "object") {
    return (
      <fieldset>
        <legend>{label}</legend>
        {input.description && <p class="hint">{input.description}</p>}
        {input.members.map((member) => (
          <SchemaInput key={member.name} {...member} path={`${path}.${member.name}`} form={form} />
        ))}
      </fieldset>
    );
  }
  if (input.kind === "select" || input.kind === "boolean") {
    const choices =
      input.kind === "select"
        ? input.choices.map(({ value, description }, index) => [String(index), `${String(value)}${description ? `: ${description}` : ""}`] as const)
        : ([["true", "true"], ["false", "false"]] as const);
    return (
      <Field {...fields}>
        {(attributes) => (
          <select {...attributes} value={text} onChange={(event) => set(event.currentTarget.value)}>
            <option value="">{required ? "select" : "absent"}</option>
            {choices.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
    );
  }
  if (input.kind === "json" || longTexts.has(name)) {
    return (
      <Field {...fields} label={<>{label} {input.kind === "json" && <span class="muted">JSON</span>}</>}>
        {(attributes) => <textarea {...attributes} rows={3} spellcheck={false} value={text} onInput={(event) => set(event.currentTarget.value)} />}
      </Field>
    );
  }
  return <TextField {...fields} value={text} inputMode={input.kind === "number" ? "numeric" : "text"} onValue={set} />;
}

function Copies({ method, schemas, params }: { method: Method; schemas: Schemas; params: () => unknown[] }) {
  const open = useSignal(false);
  return (
    <details open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>As a command or as code</summary>
      {open.value && <CopyTexts method={method} schemas={schemas} params={params} />}
    </details>
  );
}

function CopyTexts({ method, schemas, params }: { method: Method; schemas: Schemas; params: () => unknown[] }) {
  let values: unknown[];
  try {
    values = params();
  } catch (error) {
    return <p class="error">{(error as Error).message}</p>;
  }
  const url = endpoint.href;
  return (
    <>
      <Code title="curl" text={asCurl(url, method.name, values)} />
      <Code title="JavaScript" text={asJavaScript(url, method.name, values)} />
      <Code title="silica" text={asCommand(url, method, values, schemas)} />
    </>
  );
}

function Code({ title, text }: { title: string; text: string }): ComponentChildren {
  const id = useId();
  return (
    <>
      <h3 id={id}>
        {title} <Copy text={text} label={`Copy as ${title}`} />
      </h3>
      <pre tabIndex={0} role="region" aria-labelledby={id}>
        {text}
      </pre>
    </>
  );
}

function AnswerView({ answer }: { answer: Answer }) {
  return (
    <Section
      title={answer.failed ? "Error" : "Result"}
      action={
        <>
          <span>
            {Math.round(answer.ms)} ms · {formatNumber(answer.bytes)} bytes
          </span>
          <Copy text={answer.text} label="Copy the answer" />
        </>
      }
    >
      <Json value={answer.bytes > mostIndented ? answer.text : JSON.stringify(answer.value, null, 2)} />
    </Section>
  );
}

const historyColumns: Array<Column<Sent>> = [
  { title: "Method", cell: ({ method, params }) => <a href={link(["rpc", method], { params: JSON.stringify(params) })}>{method}</a> },
  { title: "Parameters", cell: ({ params }) => <ChainText text={JSON.stringify(params)} limit={120} /> },
  { title: "Outcome", cell: ({ outcome }) => outcome },
  { title: "Time", numeric: true, cell: ({ ms }) => `${Math.round(ms)} ms` },
  { title: "Bytes", numeric: true, cell: ({ bytes }) => formatNumber(bytes) },
];

function History({ methods }: { methods: Method[] }) {
  if (!history.value.length || !methods.length) return null;
  return (
    <Section
      title="Requests of this session"
      action={
        <button type="button" onClick={() => (history.value = [])}>
          Clear
        </button>
      }
    >
      <Table caption="Requests of this session, the latest first" columns={historyColumns} rows={history.value} id={({ number }) => String(number)} />
    </Section>
  );
}
