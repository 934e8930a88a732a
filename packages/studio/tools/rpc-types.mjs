// Writes src/rpc/types.ts: the methods of the node with the types of their parameters and results, from
// docs/openrpc.json. A change of the interface that breaks a page is then an error of the compiler.
import { readFileSync, writeFileSync } from "node:fs";

const root = new URL("../../../", import.meta.url);
const { components, methods } = JSON.parse(readFileSync(new URL("docs/openrpc.json", root), "utf8"));

const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const key = (name) => (identifier.test(name) ? name : JSON.stringify(name));
const union = (types) => [...new Set(types)].join(" | ") || "unknown";

/** Returns the TypeScript type of a JSON schema. */
function typeOf(schema) {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.startsWith("#/") ? schema.$ref.split("/").pop() : "unknown";
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice) return union(choice.map(typeOf));
  if (schema.allOf) return schema.allOf.map(typeOf).join(" & ");
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })));
  switch (schema.type) {
    case "array":
      return Array.isArray(schema.items)
        ? `[${schema.items.map(typeOf).join(", ")}]`
        : `Array<${typeOf(schema.items)}>`;
    case "object":
      return objectOf(schema);
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    default:
      return schema.properties ? objectOf(schema) : "unknown";
  }
}

function objectOf(schema) {
  if (!schema.properties) {
    return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : "unknown"}>`;
  }
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) => {
    return `  ${key(name)}${required.has(name) ? "" : "?"}: ${typeOf(member)};\n`;
  });
  return `{\n${members.join("")}}`;
}

function method({ name, params, result }) {
  const parameters = params.map((parameter) => {
    return `${key(parameter.name)}${parameter.required ? "" : "?"}: ${typeOf(parameter.schema)}`;
  });
  return `  ${key(name)}: { params: [${parameters.join(", ")}]; result: ${typeOf(result?.schema)} };\n`;
}

const types = Object.entries(components.schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`);
const text = `// Generated from docs/openrpc.json by tools/rpc-types.mjs. Do not edit.

${types.join("\n")}
/** The parameters and the result of each method. */
export interface Methods {
${methods.map(method).join("")}}
`;
writeFileSync(new URL("../src/rpc/types.ts", import.meta.url), text);
