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

/** The time of the browser in milliseconds, with a step of 10 s: the age of a block needs no finer clock. */
export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 10_000);
