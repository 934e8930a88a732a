// A long list of which only the visible rows are in the page.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** The height of a row in pixels, as in the style sheet. */
const rowHeight = 44;
// Browsers limit the height of an element. Above this height, a pixel of the scroll bar stands for more than a pixel.
const greatestHeight = 8_000_000;
const spare = 8;

interface VirtualProps {
  label: string;
  count: number;
  /** Whether more rows can follow. */
  more: boolean;
  row: (place: number) => ComponentChildren;
  /** Tells which rows are visible, so that the owner can read them, or the rows after them. */
  onRange: (first: number, end: number) => void;
}

export function VirtualRows({ label, count, more, row, onRange }: VirtualProps) {
  const frame = useRef<HTMLDivElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });

  const whole = count * rowHeight;
  const height = Math.min(whole, greatestHeight);
  const visible = Math.ceil(view.value.height / rowHeight);
  const reach = Math.max(height - view.value.height, 1);
  const top = Math.min(view.value.top, reach);
  // The place of the first row, as a fraction of the places that it can have.
  const exact = height === whole ? top / rowHeight : (top / reach) * Math.max(count - view.value.height / rowHeight, 0);
  const first = Math.max(0, Math.floor(exact) - spare);
  const end = Math.min(count, Math.floor(exact) + visible + spare);

  useLayoutEffect(() => {
    if (!spacer.current || !rows.current) return;
    spacer.current.style.height = `${height}px`;
    rows.current.style.transform = `translateY(${top - (exact - first) * rowHeight}px)`;
  });
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => (view.value = { top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onRange(first, end), [first, end, count, more]);

  return (
    <div
      ref={frame}
      class="virtual"
      role="group"
      aria-label={label}
      tabIndex={0}
      onScroll={(event) => (view.value = { top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
    >
      <div ref={spacer} class="virtual-space">
        <div ref={rows} class="virtual-rows" role="list">
          {Array.from({ length: Math.max(end - first, 0) }, (_, offset) => {
            const place = first + offset;
            return (
              <div key={place} class="virtual-row" role="listitem" aria-setsize={more ? -1 : count} aria-posinset={place + 1}>
                {row(place)}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
