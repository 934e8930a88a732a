// A request as a command or as code.
import { inputOf, type Method, type Schemas } from "./schema.ts";

/** Returns a text as one word of a POSIX shell. */
export const quoteShell = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const body = (method: string, params: unknown[]): string => JSON.stringify({ id: 1, jsonrpc: "2.0", method, params });

export const asCurl = (url: string, method: string, params: unknown[]): string =>
  `curl -s -H 'content-type: application/json' -d ${quoteShell(body(method, params))} ${quoteShell(url)}`;

export const asJavaScript = (url: string, method: string, params: unknown[]): string =>
  `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(${body(method, params)}),
});
const { result, error } = await response.json();`;

/** The command takes text as it is, and other types as JSON. A parameter in double quotes is JSON too. */
export function asCommand(url: string, method: Method, params: unknown[], schemas: Schemas): string {
  const words = params.map((value, index) => {
    const schema = method.params[index]?.schema;
    const isText = typeof value === "string" && schema !== undefined && inputOf(schema, schemas).kind === "text" && !/^["-]/.test(value);
    return quoteShell(isText ? value : JSON.stringify(value));
  });
  return ["silica", "rpc", "--url", quoteShell(url), method.name, ...words].join(" ");
}
