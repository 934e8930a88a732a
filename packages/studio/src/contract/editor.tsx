// An editor for a source text: a text area with line numbers, and the diagnostics of the checker.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { Field } from "../parts/form.tsx";
import { ChainText } from "../parts/text.tsx";
import type { Diagnostic, SourcePosition } from "../rpc/types.ts";
import { editorLines, indexOfColumn } from "../scilla/highlight.ts";

/** The way to the text area of an editor. */
export type EditorRef = RefObject<HTMLTextAreaElement | null>;

/** Returns the index in a text of a position of the node, whose columns count bytes. */
export function indexOfPosition(text: string, { line, column }: SourcePosition): number {
  let start = 0;
  for (let before = 1; before < line; before += 1) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  return start + indexOfColumn(text.slice(start, end < 0 ? text.length : end), column);
}

/** Selects a part of the text, and moves it into view. */
export function select(editor: EditorRef, start: SourcePosition, end: SourcePosition | null | undefined): void {
  const area = editor.current;
  if (!area) return;
  const from = indexOfPosition(area.value, start);
  area.focus();
  area.setSelectionRange(from, end ? Math.max(indexOfPosition(area.value, end), from) : from);
  const height = area.scrollHeight / area.value.split("\n").length;
  area.scrollTop = Math.max(0, (start.line - 1) * height - area.clientHeight / 2);
}

interface EditorProps {
  source: string;
  onSource: (source: string) => void;
  editor: EditorRef;
  diagnostics: Diagnostic[];
  /** The greatest number of bytes that the node accepts. */
  limit: number | undefined;
}

/** The height of a line in pixels, as in the style sheet. */
const lineHeight = 19;
const spareLines = 10;

/** The colours of the visible lines, behind the transparent text of the text area. */
function Colours({ source, scroll }: { source: string; scroll: { top: number; left: number; height: number } }) {
  const element = useRef<HTMLPreElement>(null);
  const lines = useMemo(() => editorLines(source), [source]);
  const first = Math.max(0, Math.floor(scroll.top / lineHeight) - spareLines);
  const end = Math.ceil((scroll.top + scroll.height) / lineHeight) + spareLines;
  useLayoutEffect(() => {
    element.current!.style.transform = `translate(${-scroll.left}px, ${first * lineHeight - scroll.top}px)`;
  });
  return (
    <pre ref={element} class="editor-colours" aria-hidden="true">
      {lines.slice(first, end).map((line, offset) => (
        <div key={first + offset}>
          {line.map(({ kind, text }) => (kind === "space" || kind === "name" || kind === "sign" ? text : <span class={`token-${kind}`}>{text}</span>))}
          {"\n"}
        </div>
      ))}
    </pre>
  );
}

export function Editor({ source, onSource, editor, diagnostics, limit }: EditorProps) {
  const gutter = useRef<HTMLPreElement>(null);
  const scroll = useSignal({ top: 0, left: 0, height: 600 });
  const bytes = useMemo(() => new TextEncoder().encode(source).length, [source]);
  const numbers = useMemo(() => {
    const marks = new Map<number, string>();
    for (const { start, file, severity } of diagnostics) {
      if (start && !file && marks.get(start.line) !== "✗") marks.set(start.line, severity === "error" ? "✗" : "!");
    }
    return Array.from({ length: source.split("\n").length }, (_, place) => `${marks.get(place + 1) ?? ""} ${place + 1}`).join("\n");
  }, [source, diagnostics]);
  const read = (file: File | undefined) => {
    // A text area has line feeds only, so the text has them from the start.
    void file?.text().then((text) => onSource(text.replaceAll("\r\n", "\n")));
  };
  const large = limit !== undefined && bytes > limit;
  return (
    <>
      <Field label="File" hint="Choose a .scilla or .scillib file, or drop one into the text.">
        {(attributes) => (
          <input {...attributes} type="file" accept=".scilla,.scillib,text/plain" onChange={(event) => read(event.currentTarget.files?.[0])} />
        )}
      </Field>
      <Field
        label="Source"
        hint={`${formatNumber(bytes)}${limit === undefined ? "" : ` of at most ${formatNumber(limit)}`} bytes.`}
        error={large ? `expected at most ${formatNumber(limit)} bytes, got ${formatNumber(bytes)}` : null}
      >
        {(attributes) => (
          <div class="editor">
            <pre ref={gutter} aria-hidden="true">
              {numbers}
            </pre>
            <div class="editor-text">
              <Colours source={source} scroll={scroll.value} />
              <textarea
                {...attributes}
                ref={editor}
                wrap="off"
                rows={24}
                spellcheck={false}
                autocapitalize="off"
                autocomplete="off"
                value={source}
                onInput={(event) => onSource(event.currentTarget.value)}
                onScroll={({ currentTarget: { scrollTop: top, scrollLeft: left, clientHeight: height } }) => {
                  scroll.value = { top, left, height };
                  if (gutter.current) gutter.current.scrollTop = top;
                }}
                onDrop={(event) => {
                  if (!event.dataTransfer?.files.length) return;
                  event.preventDefault();
                  read(event.dataTransfer.files[0]);
                }}
              />
            </div>
          </div>
        )}
      </Field>
    </>
  );
}

/** The errors and warnings of the checker. A position is a button that moves the cursor there. */
export function Diagnostics({ diagnostics, truncated, editor }: { diagnostics: Diagnostic[]; truncated: boolean; editor: EditorRef }) {
  return (
    <ul class="diagnostics">
      {diagnostics.map(({ severity, message, start, end, file, notes, help }, place) => (
        <li key={place}>
          <span class={severity === "error" ? "bad" : "warn"}>{severity === "error" ? "✗ error" : "! warning"}</span>{" "}
          {file ? (
            <>
              in <ChainText text={file} limit={100} />
            </>
          ) : (
            start && (
              <button type="button" class="link" onClick={() => select(editor, start, end)}>
                line {start.line}, column {start.column}
              </button>
            )
          )}
          {": "}
          <ChainText text={message} limit={1_000} />
          {notes.map((note, number) => (
            <div key={number} class="muted">
              <ChainText text={note} limit={1_000} />
            </div>
          ))}
          {help && (
            <div class="muted">
              <ChainText text={help} limit={1_000} />
            </div>
          )}
        </li>
      ))}
      {truncated && <li class="muted">There are more diagnostics.</li>}
    </ul>
  );
}
