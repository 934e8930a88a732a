// Data of the node for a component: loading, error and value, without answers that arrive too late.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { generation, head } from "./rpc/socket.ts";

export interface Resource<T> {
  value: T | undefined;
  error: Error | undefined;
  loading: boolean;
  /** Reads again. The old value stays until the new one arrives. */
  reload(): void;
}

export interface ResourceOptions<T> {
  /** Whether to read again at each new block. A function decides by the latest value. */
  live?: boolean | ((value: T | undefined) => boolean);
}

/**
 * Reads data when a key changes, after a revert, and after a reconnection. With `live`, also at each new block.
 * An answer to an earlier key is dropped.
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { live = false }: ResourceOptions<T> = {},
): Resource<T> {
  const state = useSignal<{ key: string; value?: T; error?: Error; loading: boolean }>({ key, loading: true });
  const running = useRef<AbortController>(undefined);
  const again = useRef(false);
  const loader = useRef(load);
  loader.current = load;

  const read = (now: string) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    again.current = false;
    const before = state.peek();
    state.value = before.key === now ? { ...before, loading: true } : { key: now, loading: true };
    const finish = (result: { value?: T; error?: Error }) => {
      if (controller.signal.aborted) return;
      state.value = { key: now, ...result, loading: false };
      if (again.current) read(now);
    };
    loader.current(controller.signal).then(
      (value) => finish({ value }),
      (error: unknown) => finish({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
  };

  useEffect(() => {
    read(key);
    return () => running.current?.abort();
  }, [key]);
  const seen = useRef<{ generation: number; block: string | undefined }>(undefined);
  useSignalEffect(() => {
    const before = seen.current;
    const now = (seen.current = { generation: generation.value, block: head.value?.hash });
    if (!before) return;
    const { key: current, value, loading } = state.peek();
    if (before.generation !== now.generation) read(current);
    else if (before.block !== now.block && (typeof live === "function" ? live(value) : live)) {
      // Blocks can be faster than answers, so a block does not abort a running request.
      if (loading) again.current = true;
      else read(current);
    }
  });

  const { value, error, loading } = state.value.key === key ? state.value : { loading: true };
  return { value, error, loading, reload: () => read(key) } as Resource<T>;
}

export interface Pages<T> extends Resource<T[]> {
  /** The number of the shown page, from 1. */
  page: number;
  /** Reads the first page; undefined on the first page. */
  first: (() => void) | undefined;
  /** Reads the page before; undefined on the first page. */
  previous: (() => void) | undefined;
  /** Reads the page after; undefined on the last page. */
  next: (() => void) | undefined;
}

/**
 * Reads a list in pages, and shows one page. The rows stay until another page arrives. A revert or reconnection starts
 * with the first page. The first page of a live list follows new blocks.
 */
export function usePages<T>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<{ rows: T[]; next: string | null }>,
  { live = false }: { live?: boolean } = {},
): Pages<T> {
  // The cursors of the pages after the first one, up to the current page.
  const way = useSignal<{ key: string; cursors: string[] }>({ key, cursors: [] });
  const cursors = way.value.key === key ? way.value.cursors : [];
  const cursor = cursors.at(-1);
  const current = useResource(JSON.stringify([key, cursor]), (signal) => load(cursor, signal), { live: live && cursor === undefined });
  const go = (next: string[]) => (way.value = { key, cursors: next });
  const seen = useRef<number>(undefined);
  useSignalEffect(() => {
    // A cursor can be a position in a block that was removed.
    if (seen.current !== undefined && seen.current !== generation.value) go([]);
    seen.current = generation.value;
  });

  const last = useRef<{ key: string; page: number; rows: T[] }>(undefined);
  if (current.value) last.current = { key, page: cursors.length + 1, rows: current.value.rows };
  const shown = last.current?.key === key ? last.current : undefined;
  const next = current.value?.next ?? null;
  return {
    ...current,
    value: shown?.rows,
    page: shown?.page ?? 1,
    first: cursor === undefined ? undefined : () => go([]),
    previous: cursor === undefined ? undefined : () => go(cursors.slice(0, -1)),
    next: next === null ? undefined : () => go([...cursors, next]),
  };
}

const pollEvery = 5_000;

/**
 * Reads a resource each 5 s while the page is visible, for data that change without a block. The node sends no
 * notification of a pending transaction.
 */
export function usePolling(active: boolean, { loading, reload }: Pick<Resource<unknown>, "loading" | "reload">): void {
  const latest = useRef({ loading, reload });
  latest.current = { loading, reload };
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible" && !latest.current.loading) latest.current.reload();
    }, pollEvery);
    return () => clearInterval(timer);
  }, [active]);
}
