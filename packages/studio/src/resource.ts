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
  /** Reads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  /** Reads the latest first page; defined if a live list does not follow new blocks. */
  restart: (() => void) | undefined;
}

/**
 * Reads a list in pages, and keeps the pages that were read. A revert or reconnection starts with the first page. A live
 * list follows new blocks until the reader asks for a second page.
 */
export function usePages<T>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<{ rows: T[]; next: string | null }>,
  { live = false }: { live?: boolean } = {},
): Pages<T> {
  const rest = useSignal<{ of: unknown; rows: T[]; next: string | null; loading: boolean; error?: Error } | null>(null);
  const hasLater = useRef(false);
  const first = useResource(key, (signal) => load(undefined, signal), { live: () => live && !hasLater.current });
  // Later pages belong to one first page. If the first page changes, they are dropped.
  const later = rest.value && rest.value.of === first.value ? rest.value : null;
  hasLater.current = later !== null;
  const next = later ? later.next : (first.value?.next ?? null);
  const more = () => {
    if (!first.value || next === null || later?.loading) return;
    const of = first.value;
    const rows = later?.rows ?? [];
    rest.value = { of, rows, next, loading: true };
    load(next, new AbortController().signal).then(
      (page) => {
        if (rest.peek()?.of === of) rest.value = { of, rows: [...rows, ...page.rows], next: page.next, loading: false };
      },
      (error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error));
        if (rest.peek()?.of === of) rest.value = { of, rows, next, loading: false, error: cause };
      },
    );
  };
  return {
    value: first.value && [...first.value.rows, ...(later?.rows ?? [])],
    error: later?.error ?? first.error,
    loading: first.loading || (later?.loading ?? false),
    reload: first.reload,
    more: next === null ? undefined : more,
    restart: live && later ? first.reload : undefined,
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
