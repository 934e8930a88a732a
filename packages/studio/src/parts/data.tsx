// States of data: loading, error, empty, pages.
import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Pages, Resource } from "../resource.ts";
import { announce } from "./live.tsx";

/** Shows data when it is there, and otherwise why it is not. */
export function Loaded<T>({ of, children }: { of: Resource<T>; children: (value: T) => ComponentChildren }) {
  if (of.value !== undefined) {
    return (
      <>
        {of.error && <Failure error={of.error} retry={of.reload} />}
        {children(of.value)}
      </>
    );
  }
  if (of.error) return <Failure error={of.error} retry={of.reload} />;
  return (
    <p class="muted" aria-busy="true">
      Loading…
    </p>
  );
}

/** An error with its text, and a button that tries again. */
export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <span>{error.message}</span>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A list in pages: the rows of one page, and buttons for the others. */
export function Paged<T>({ of, empty, children }: { of: Pages<T>; empty: string; children: (rows: T[]) => ComponentChildren }) {
  const { page, first, previous, next } = of;
  const start = useRef<HTMLDivElement>(null);
  const before = useRef(page);
  useLayoutEffect(() => {
    if (before.current === page) return;
    before.current = page;
    announce(`Page ${page}`);
    // The buttons are below the rows.
    if (start.current && start.current.getBoundingClientRect().top < 0) start.current.scrollIntoView();
  }, [page]);
  return (
    <div ref={start} class="pages">
      <Loaded of={of}>
        {(rows) => (
          <Fragment key={page}>
            {rows.length ? children(rows) : <p class="muted">{next ? "This page has no rows." : empty}</p>}
          </Fragment>
        )}
      </Loaded>
      {(previous ?? next) && (
        <nav class="bar" aria-label="Pages of the list">
          <PageButton go={first}>First</PageButton>
          <PageButton go={previous}>Previous</PageButton>
          <span class="muted">Page {page}</span>
          <PageButton go={next}>Next</PageButton>
          {of.loading && <span class="muted">Loading…</span>}
        </nav>
      )}
    </div>
  );
}

const PageButton = ({ go, children }: { go: (() => void) | undefined; children: string }) => (
  <button type="button" disabled={!go} onClick={go}>
    {children}
  </button>
);

export interface Column<T> {
  title: string;
  /** Numbers are at the right side. */
  numeric?: boolean;
  cell: (row: T) => ComponentChildren;
}

/** Rows that the page gets in one task. A task of more than 50 ms delays the keys and clicks of the reader. */
const rowsOfTask = 10;

/** Returns how many of `count` rows to show now. The number grows with each frame. */
function useGrowth(count: number): number {
  const shown = useSignal(rowsOfTask);
  useEffect(() => {
    if (shown.value >= count) {
      // The next longer list grows again.
      shown.value = Math.max(count, rowsOfTask);
      return;
    }
    const frame = requestAnimationFrame(() => (shown.value += rowsOfTask));
    return () => cancelAnimationFrame(frame);
  }, [shown.value, count]);
  return Math.min(shown.value, count);
}

interface TableProps<T> {
  caption: string;
  columns: Array<Column<T>>;
  rows: T[];
  id: (row: T, place: number) => string;
}

/**
 * A table with a caption. On a narrow screen, each row is a list with the titles of the columns. The roles keep the
 * meaning of the table there, because browsers drop it with the layout.
 */
export function Table<T>({ caption, columns, rows, id }: TableProps<T>) {
  const shown = useGrowth(rows.length);
  return (
    <table role="table" aria-busy={shown < rows.length}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr role="row">
          {columns.map((column) => (
            <th key={column.title} role="columnheader" scope="col" class={column.numeric ? "number" : undefined}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, shown).map((row, place) => (
          <Row key={id(row, place)} row={row} columns={columns} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps<T> {
  row: T;
  columns: Array<Column<T>>;
}

/** A row of a table. It stays as it is while other rows come. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: RowProps<T>) {
    return next.row !== this.props.row || next.columns !== this.props.columns;
  }

  override render({ row, columns }: RowProps<T>) {
    return (
      <tr role="row">
        {columns.map((column) => (
          <td key={column.title} role="cell" data-title={column.title} class={column.numeric ? "number" : undefined}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
    );
  }
}

/** Names and values. */
export function Facts({ rows }: { rows: Array<[name: string, value: ComponentChildren] | null | false> }) {
  return (
    <dl class="facts">
      {rows.map(
        (row) =>
          row && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
