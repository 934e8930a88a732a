// The form that calls a transition of a contract.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { AddressBook, useAccounts } from "../parts/addresses.tsx";
import { Field } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { ScillaField } from "../parts/scilla.tsx";
import { type Draft, Send, useSettled } from "../parts/send.tsx";
import { Copy } from "../parts/text.tsx";
import { link, route, setQuery } from "../router.ts";
import type { ContractComponent, ContractInterface, TypedName } from "../rpc/types.ts";
import { parseType, type Type } from "../scilla/types.ts";
import { type DataTypes, emptyForm, type Form, FormError, fromJson, isMoney, type Param, textValue, toParam } from "../scilla/values.ts";
import { Documentation } from "./state.tsx";

export interface TypedParam {
  vname: string;
  type: Type;
}

export const parseParams = (params: TypedName[]): TypedParam[] => params.map(({ vname, type }) => ({ vname, type: parseType(type) }));

/** Returns the forms of parameters, with the values of a link where it has them. */
export function startForms(params: TypedParam[], known: DataTypes, values: Record<string, unknown> = {}): Form[] {
  return params.map(({ vname, type }) => {
    const empty = emptyForm(type, known, isMoney(vname, type) ? "Qa" : undefined);
    if (!Object.hasOwn(values, vname)) return empty;
    try {
      const form = fromJson(type, values[vname], known);
      return form.kind === "text" && empty.kind === "text" ? { ...empty, text: form.text } : form;
    } catch {
      return { kind: "json", text: JSON.stringify(values[vname]), form: empty };
    }
  });
}

// A form changes by a new object, so that the value of an unchanged one is known. A long list is converted once.
const values = new WeakMap<Form, { type: Type; known: DataTypes; param: Param }>();

function readParam({ vname, type }: TypedParam, form: Form, known: DataTypes): Param {
  const before = values.get(form);
  if (before?.type === type && before.known === known) return before.param;
  const param = toParam(vname, type, form, known);
  values.set(form, { type, known, param });
  return param;
}

/** Returns the parameters, or what the first incomplete one needs. */
export function readParams(params: TypedParam[], forms: Form[], known: DataTypes): Param[] | { problem: string } {
  try {
    return params.map((param, place) => readParam(param, forms[place]!, known));
  } catch (error) {
    if (error instanceof FormError) return { problem: error.message };
    throw error;
  }
}

/** The inputs of parameters. */
export function ParamFields({ params, forms, known, onForms }: {
  params: TypedParam[];
  forms: Form[];
  known: DataTypes;
  onForms: (forms: Form[]) => void;
}) {
  return (
    <>
      {params.map(({ vname, type }, place) => (
        <ScillaField
          key={vname}
          name={vname}
          type={type}
          form={forms[place]!}
          known={known}
          onForm={(form) => onForms(forms.with(place, form))}
        />
      ))}
    </>
  );
}

interface CallProps {
  address: string;
  interface: ContractInterface;
  known: DataTypes;
  source: string | undefined;
}

export function Call(props: CallProps) {
  const { address, interface: of } = props;
  const accounts = useAccounts();
  if (of.library) return <p class="muted">A library has no transitions.</p>;
  if (!of.transitions.length) return <p class="muted">The contract has no transitions.</p>;
  const asked = route.value.query.get("transition");
  const transition = of.transitions.find(({ vname }) => vname === asked) ?? of.transitions[0]!;
  return (
    <>
      <AddressBook accounts={accounts.value} />
      <Section title="Call">
        <Field label="Transition">
          {(attributes) => (
            <select
              {...attributes}
              value={transition.vname}
              onChange={(event) => {
                location.hash = link(["contract", `0x${address}`], { tab: "call", transition: event.currentTarget.value });
              }}
            >
              {of.transitions.map(({ vname }) => (
                <option key={vname} value={vname}>
                  {vname.slice(0, 100)}
                </option>
              ))}
            </select>
          )}
        </Field>
        {transition.documentation && <Documentation text={transition.documentation} />}
      </Section>
      {/* After a revert, another contract can have the address. */}
      <TransitionCall key={JSON.stringify([transition.vname, transition.params])} {...props} transition={transition} accounts={accounts.value} />
    </>
  );
}

const amountType: Type = { kind: "integer", signed: false, bits: 128 };
// A longer link is of little use; browsers and chats cut it.
const longestLink = 4_000;

/** Reads the values of a link. A link that is not valid JSON has no values. */
function linkedValues(): Record<string, unknown> {
  try {
    const values = JSON.parse(route.peek().query.get("args") ?? "{}") as unknown;
    return typeof values === "object" && values !== null ? (values as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function TransitionCall({ address, known, source, transition, accounts }: CallProps & {
  transition: ContractComponent;
  accounts: Parameters<typeof Send>[0]["accounts"];
}) {
  const params = useMemo(() => parseParams(transition.params), [transition]);
  const forms = useSignal(useMemo(() => startForms(params, known, linkedValues()), []));
  const linkedAmount = useMemo(() => route.peek().query.get("amount"), []);
  const amount = useSignal<Form>({ kind: "text", text: linkedAmount ?? "0", unit: linkedAmount ? "Qa" : "ZIL" });

  const read = readParams(params, forms.value, known);
  const money = readAmount(amount.value);
  const problem = "problem" in read ? read.problem : money.problem;
  const draft: Draft | { problem: string } =
    problem !== undefined ? { problem } : { toAddr: `0x${address}`, amount: money.qa!, data: JSON.stringify({ _tag: transition.vname, params: read }) };

  // The link has the filled form, and never a key.
  const data = useSettled("problem" in draft ? "" : draft.data!);
  const qa = useSettled(money.qa ?? "");
  useEffect(() => {
    const { params = [] } = data && data.length <= longestLink ? (JSON.parse(data) as { params: Param[] }) : {};
    setQuery("transition", transition.vname);
    setQuery("args", params.length ? JSON.stringify(Object.fromEntries(params.map(({ vname, value }) => [vname, value]))) : "");
    setQuery("amount", qa === "0" ? "" : qa);
  }, [data, qa]);

  return (
    <>
      <Section
        title="Parameters"
        action={
          <span class="muted">
            Link to this form <Copy text={location.href} label="Copy the link to this form" />
          </span>
        }
      >
        {params.length === 0 && <p class="muted">The transition has no parameters.</p>}
        <ParamFields params={params} forms={forms.value} known={known} onForms={(next) => (forms.value = next)} />
        <ScillaField name="_amount" type={amountType} form={amount.value} known={known} onForm={(form) => (amount.value = form)} />
      </Section>
      <Send
        what={transition.vname}
        draft={draft}
        accounts={accounts}
        source={source}
        showLine={(line) => <a href={link(["contract", `0x${address}`], { tab: "code", line: String(line) })}>line {line}</a>}
      />
    </>
  );
}

function readAmount(form: Form): { qa?: string; problem?: string } {
  try {
    if (form.kind === "text") return { qa: textValue(amountType, form.text, form.unit) };
    const json = form.kind === "json" ? (JSON.parse(form.text) as unknown) : null;
    return { qa: textValue(amountType, String(json)) };
  } catch (error) {
    return { problem: `_amount: ${(error as Error).message}` };
  }
}
