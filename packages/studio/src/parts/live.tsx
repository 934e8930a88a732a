// Messages for screen readers, and the clock of relative times.
import { signal } from "@preact/signals";

const message = signal("");

/** Puts a message into the live region of the page. */
export function announce(text: string): void {
  // An equal message would not be read again.
  message.value = message.peek() === text ? `${text}\u00a0` : text;
}

export const LiveRegion = () => (
  <div class="visually-hidden" role="status" aria-live="polite">
    {message}
  </div>
);

const tick = signal(0);
setInterval(() => (tick.value += 1), 10_000);

/** Returns the time of the browser in milliseconds. A component that calls the function renders again every 10 s. */
export function now(): number {
  // A read subscribes the component.
  tick.value;
  return Date.now();
}
