// A source text of Scilla with line numbers, a gutter, marks and a current part.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { SourceSpan } from "../rpc/types.ts";
import { indexOfColumn, type Token, tokenLines } from "../scilla/highlight.ts";
import { visible } from "./text.tsx";

export interface GutterValue {
  text: string;
  title?: string;
  /** 0 for a low value, up to 4 for a high value. */
  heat?: number;
}

export interface LineMark {
  /** One character. */
  symbol: string;
  title: string;
  /** The class of the line: `unreached`, `bad`, `warn` or another class of the page. */
  className?: string;
}

export interface SourceProps {
  source: string;
  /** The name of the source for screen readers. */
  label: string;
  /** The current part, in lines and columns of the node. */
  current?: SourceSpan | undefined;
  /** The values of the gutter by line, from 1, with the title of the gutter. */
  gutter?: { title: string; values: ReadonlyMap<number, GutterValue> } | undefined;
  /** Marks by line, from 1. */
  marks?: ReadonlyMap<number, LineMark> | undefined;
  /** The line that is moved into view when it changes. Without it, the first line of the current part. */
  line?: number | undefined;
}

/** Lines that are shown and hidden together. */
const linesOfPart = 100;

/**
 * A source text. Parts of the text outside the view are plain text, so that a text of 10,000 lines needs few elements,
 * and the search of the browser finds each word.
 */
export function Source({ source, label, current, gutter, marks, line = current?.start.line }: SourceProps) {
  const view = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => tokenLines(source), [source]);
  const parts = useMemo(() => {
    const starts = Array.from({ length: Math.ceil(lines.length / linesOfPart) }, (_, index) => index * linesOfPart);
    return starts.map((start) => ({ start, lines: lines.slice(start, start + linesOfPart) }));
  }, [lines]);
  useEffect(() => {
    if (line !== undefined) reveal(view.current!, line);
  }, [line, source]);
  return (
    <div ref={view} class={`source digits-${String(lines.length).length}`} tabIndex={0} role="region" aria-label={label}>
      {parts.map((part) => (
        <Part
          key={part.start}
          {...part}
          // Other parts stay as they are while the current part moves.
          current={current && touches(current, part.start, part.lines.length) ? current : undefined}
          gutter={gutter}
          marks={marks}
        />
      ))}
    </div>
  );
}

const touches = ({ start, end }: SourceSpan, first: number, count: number): boolean =>
  start.line <= first + count && end.line > first;

/** Moves a line into the view, without a move of the page. */
function reveal(view: HTMLDivElement, line: number): void {
  const part = view.children[Math.floor((line - 1) / linesOfPart)] as HTMLElement | undefined;
  if (!part) return;
  const height = parseFloat(getComputedStyle(view).lineHeight);
  const top = part.offsetTop + height * ((line - 1) % linesOfPart);
  const margin = Math.min(3 * height, view.clientHeight / 4);
  if (top < view.scrollTop + margin || top + height > view.scrollTop + view.clientHeight - margin) {
    view.scrollTop = top - view.clientHeight / 2;
  }
}

function Part({ start, lines, current, gutter, marks }: { start: number; lines: Token[][] } & Pick<SourceProps, "current" | "gutter" | "marks">) {
  const element = useRef<HTMLDivElement>(null);
  const near = useSignal(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => (near.value = entries.at(-1)!.isIntersecting), {
      root: element.current!.parentElement,
      rootMargin: "400px",
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  const shown = near.value;
  // An element that is the same as before has no effect on the document.
  const content = useMemo(
    () =>
      shown
        ? lines.map((tokens, index) => {
            const number = start + index + 1;
            return <Line key={index} number={number} tokens={tokens} gutter={gutter} mark={marks?.get(number)} />;
          })
        : `${lines.map(plain).join("\n")}\n`,
    [shown, lines, gutter, marks],
  );
  const withCurrent =
    typeof content === "string" || !current
      ? content
      : content.map((line, index) => (touches(current, start + index, 1) ? <Line {...line.props} key={index} current={current} /> : line));
  return (
    <div ref={element} class={shown ? undefined : "source-far"}>
      {withCurrent}
    </div>
  );
}

const plain = (line: Token[]): string => line.map(({ text }) => text).join("").replaceAll(/[\r\n]/g, " ");

function Line({ number, tokens, current, gutter, mark }: {
  number: number;
  tokens: Token[];
  current?: SourceSpan;
  gutter: SourceProps["gutter"];
  mark: LineMark | undefined;
}) {
  const value = gutter?.values.get(number);
  const text = plain(tokens);
  const isCurrent = current !== undefined && number >= current.start.line && number <= current.end.line;
  const isFirst = isCurrent && number === current.start.line;
  const from = isFirst ? indexOfColumn(text, current.start.column) : 0;
  const to = !isCurrent ? 0 : number === current.end.line ? indexOfColumn(text, current.end.column) : text.length;
  return (
    <div class={`source-line ${mark?.className ?? ""} ${isCurrent ? "current" : ""}`} aria-current={isFirst ? "location" : undefined}>
      <span class="line-number">{number}</span>
      {gutter && (
        <span class={`gutter ${value?.heat ? `heat-${value.heat}` : ""}`} title={value ? (value.title ?? gutter.title) : undefined}>
          {value?.text}
        </span>
      )}
      <span class="line-mark" title={mark?.title}>
        <span aria-hidden="true">{isFirst ? "▶" : mark?.symbol}</span>
        {mark && <span class="visually-hidden">{mark.title}</span>}
      </span>
      <code>
        {isCurrent ? (
          <>
            {colour(cut(tokens, 0, from))}
            <mark>{colour(cut(tokens, from, to))}</mark>
            {colour(cut(tokens, to, Infinity))}
          </>
        ) : (
          colour(tokens)
        )}
      </code>
    </div>
  );
}

/** Returns the part of a line between two indices. */
function cut(line: Token[], from: number, to: number): Token[] {
  let at = 0;
  const inside: Token[] = [];
  for (const { kind, text } of line) {
    const part = text.slice(Math.max(from - at, 0), Math.max(to - at, 0));
    if (part) inside.push({ kind, text: part });
    at += text.length;
  }
  return inside;
}

const colour = (line: Token[]): ComponentChildren =>
  line.map(({ kind, text }) => (kind === "space" || kind === "name" || kind === "sign" ? visible(text) : <span class={`token-${kind}`}>{visible(text)}</span>));
