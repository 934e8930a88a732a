// The entries of a field in pages of one block. Only some pages are in memory: the others are read again by their
// cursors when a person scrolls back.
import { signal } from "@preact/signals";
import { call } from "../rpc/client.ts";
import type { StateEntry } from "../rpc/types.ts";

export const entriesOfPage = 500;
const pagesInMemory = 20;
/** The next page is read when this number of rows before the end is visible. */
const ahead = 200;

interface EntryPage {
  cursor: string | null;
  start: number;
  count: number;
  entries: StateEntry[] | undefined;
}

export class Entries {
  /** Grows with each change, so that a component renders again. */
  readonly version = signal(0);
  count = 0;
  error: Error | undefined;
  private pages: EntryPage[] = [];
  private next: string | null = null;
  private complete = false;
  private running = false;
  private wanted: [first: number, end: number] = [0, 1];
  private readonly abort = new AbortController();

  constructor(
    private readonly address: string,
    private readonly field: string,
    private readonly block: string,
  ) {}

  /** Whether more entries can follow. */
  get more(): boolean {
    return !this.complete;
  }

  /** Returns an entry; undefined while its page is not in memory. */
  at(place: number): StateEntry | undefined {
    const page = this.pageOf(place);
    return page?.entries?.[place - page.start];
  }

  /** Reads the pages of the visible rows, one after the other. */
  want(first: number, end: number): void {
    this.wanted = [first, end];
    if (!this.running && !this.error) void this.read();
  }

  stop(): void {
    this.abort.abort();
  }

  private pageOf(place: number): EntryPage | undefined {
    let low = 0;
    let high = this.pages.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const page = this.pages[middle]!;
      if (place < page.start) high = middle - 1;
      else if (place >= page.start + page.count) low = middle + 1;
      else return page;
    }
    return undefined;
  }

  private missing(): EntryPage | "next" | undefined {
    const [first, end] = this.wanted;
    for (let place = Math.max(first, 0); place < Math.min(end, this.count); ) {
      const page = this.pageOf(place)!;
      if (!page.entries) return page;
      place = page.start + page.count;
    }
    return !this.complete && end + ahead > this.count ? "next" : undefined;
  }

  private async read(): Promise<void> {
    this.running = true;
    try {
      for (let page = this.missing(); page && !this.abort.signal.aborted; page = this.missing()) {
        const cursor = page === "next" ? this.next : page.cursor;
        const answer = await call(
          "silica_getSmartContractStatePage",
          [this.address, this.field, cursor, entriesOfPage, this.block],
          this.abort.signal,
        );
        // An empty map is one entry without keys.
        const entries = answer.entries.filter(({ indices }) => indices.length > 0);
        if (page === "next") {
          if (entries.length) this.pages.push({ cursor, start: this.count, count: entries.length, entries });
          this.count += entries.length;
          this.next = answer.next ?? null;
          this.complete = this.next === null;
        } else page.entries = entries;
        this.forget();
        this.version.value += 1;
      }
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.error = error instanceof Error ? error : new Error(String(error));
      this.version.value += 1;
    } finally {
      this.running = false;
    }
  }

  /** Removes the entries of the pages that are farthest from the visible rows. */
  private forget(): void {
    const kept = this.pages.filter(({ entries }) => entries);
    const middle = this.wanted[0];
    kept.sort((one, other) => Math.abs(one.start - middle) - Math.abs(other.start - middle));
    for (const page of kept.slice(pagesInMemory)) page.entries = undefined;
  }
}
