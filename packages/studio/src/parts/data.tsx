// States of data: loading, error, empty, pages.
import type { ComponentChildren } from "preact";
import type { Pages, Resource } from "../resource.ts";

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

/** A list in pages: the rows, and a button for more rows. */
export function Paged<T>({ of, empty, children }: { of: Pages<T>; empty: string; children: (rows: T[]) => ComponentChildren }) {
  return (
    <Loaded of={of}>
      {(rows) => (
        <>
          {of.restart && (
            <p class="hint">
              The list does not follow new blocks.{" "}
              <button type="button" class="link" onClick={of.restart}>
                Show the latest
              </button>
            </p>
          )}
          {rows.length ? children(rows) : !of.more && <p class="muted">{empty}</p>}
          {of.more && (
            <button type="button" disabled={of.loading} onClick={of.more}>
              {of.loading ? "Loading…" : "Show more"}
            </button>
          )}
        </>
      )}
    </Loaded>
  );
}

export interface Column<T> {
  title: string;
  /** Numbers are at the right side. */
  numeric?: boolean;
  cell: (row: T) => ComponentChildren;
}

/**
 * A table with a caption. On a narrow screen, each row is a list with the titles of the columns. The roles keep the
 * meaning of the table there, because browsers drop it with the layout.
 */
export function Table<T>({ caption, columns, rows, id }: { caption: string; columns: Array<Column<T>>; rows: T[]; id: (row: T) => string }) {
  return (
    <table role="table">
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
        {rows.map((row) => (
          <tr key={id(row)} role="row">
            {columns.map((column) => (
              <td key={column.title} role="cell" data-title={column.title} class={column.numeric ? "number" : undefined}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
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
