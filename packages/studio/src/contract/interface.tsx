// A summary of the interface of a contract, with the comments of its source.
import { Facts } from "../parts/data.tsx";
import { Section } from "../parts/page.tsx";
import { TypeText } from "../parts/scilla.tsx";
import { ChainText } from "../parts/text.tsx";
import { link } from "../router.ts";
import type { ContractComponent, ContractInterface, TypedName } from "../rpc/types.ts";
import { shortName } from "../scilla/values.ts";
import { Documentation } from "./state.tsx";

const TypedNames = ({ rows }: { rows: TypedName[] }) => (
  <>
    {rows.map(({ vname, type }, place) => (
      <span key={vname}>
        {place > 0 && ", "}
        <ChainText text={vname} limit={100} /> : <TypeText text={type} />
      </span>
    ))}
  </>
);

/** A summary. With an address, transitions have links to their form and to the source. */
export function InterfaceSummary({ interface: of, address }: { interface: ContractInterface; address?: string }) {
  const component = (one: ContractComponent, callable: boolean) => (
    <li key={one.vname}>
      <strong>
        <ChainText text={one.vname} limit={100} />
      </strong>
      {" ("}
      <TypedNames rows={one.params} />
      {")"}
      {address && (
        <>
          {" "}
          {callable && <a href={link(["contract", `0x${address}`], { tab: "call", transition: one.vname })}>call</a>}{" "}
          <a href={link(["contract", `0x${address}`], { tab: "code", line: String(one.span.start.line) })}>line {one.span.start.line}</a>
        </>
      )}
      {one.documentation && <Documentation text={one.documentation} />}
    </li>
  );
  return (
    <Section title="Interface">
      {of.documentation && <Documentation text={of.documentation} />}
      <Facts
        rows={[
          ["Kind", of.library ? "library" : "contract"],
          of.standards.length > 0 && ["Has the interface of", of.standards.join(", ")],
          ["Version of Scilla", of.scilla_major_version],
        ]}
      />
      {of.transitions.length > 0 && (
        <details open>
          <summary>Transitions: {of.transitions.length}</summary>
          <ul class="components">{of.transitions.map((one) => component(one, true))}</ul>
        </details>
      )}
      {of.procedures.length > 0 && (
        <details>
          <summary>Procedures: {of.procedures.length}</summary>
          <ul class="components">{of.procedures.map((one) => component(one, false))}</ul>
        </details>
      )}
      {of.fields.length > 0 && (
        <details>
          <summary>Fields: {of.fields.length}</summary>
          <ul class="components">
            {of.fields.map(({ vname, type, documentation }) => (
              <li key={vname}>
                <TypedNames rows={[{ vname, type }]} />
                {documentation && <Documentation text={documentation} />}
              </li>
            ))}
          </ul>
        </details>
      )}
      {of.events.length > 0 && (
        <details>
          <summary>Events: {of.events.length}</summary>
          <ul class="components">
            {of.events.map(({ vname, params }, place) => (
              <li key={place}>
                <strong>
                  <ChainText text={vname} limit={100} />
                </strong>
                {" ("}
                <TypedNames rows={params} />
                {")"}
              </li>
            ))}
          </ul>
        </details>
      )}
      {of.ADTs.length > 0 && (
        <details>
          <summary>Data types: {of.ADTs.length}</summary>
          <ul class="components">
            {of.ADTs.map(({ tname, tparams, tmap, documentation }) => (
              <li key={tname}>
                <strong>
                  <ChainText text={[shortName(tname), ...tparams].join(" ")} limit={100} />
                </strong>
                {documentation && <Documentation text={documentation} />}
                <ul>
                  {tmap.map(({ cname, argtypes }) => (
                    <li key={cname}>
                      <ChainText text={shortName(cname)} limit={100} />
                      {argtypes.map((type, place) => (
                        <span key={place}>
                          {" "}
                          <TypeText text={type.includes(" ") ? `(${type})` : type} />
                        </span>
                      ))}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}
