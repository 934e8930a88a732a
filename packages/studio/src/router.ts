// The route is in the fragment of the URL: `#/tx/HASH?tab=raw`. So the page works below any path, and a link to each
// page can be copied.
import { signal } from "@preact/signals";

export interface Route {
  /** The parts of the path, decoded; empty for the home page. */
  path: string[];
  query: URLSearchParams;
}

/** Parses the fragment of a URL. A part that is not valid percent-encoding is taken as it is. */
export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the link to a page. */
export function link(path: Array<string | number>, query: Record<string, string> = {}): string {
  const text = path.map((part) => encodeURIComponent(String(part))).join("/");
  const parameters = new URLSearchParams(query).toString();
  return `#/${text}${parameters && `?${parameters}`}`;
}

export const route = signal<Route>(parseRoute(location.hash));

/** Follows the fragment. On another page, the focus moves to the heading, and the view to the top. */
export function followRoutes(): void {
  addEventListener("hashchange", () => {
    const before = route.value.path.join("/");
    route.value = parseRoute(location.hash);
    if (route.value.path.join("/") !== before) scrollTo(0, 0);
  });
}

/** Goes to a page, with an entry in the history. */
export function go(path: Array<string | number>, query: Record<string, string> = {}): void {
  location.hash = link(path, query);
}

/** Sets one parameter of the route without an entry in the history; an empty value removes it. */
export function setQuery(name: string, value: string): void {
  const { path, query } = route.value;
  const next = new URLSearchParams(query);
  if (value) next.set(name, value);
  else next.delete(name);
  const fragment = link(path, Object.fromEntries(next));
  history.replaceState(null, "", fragment);
  route.value = parseRoute(fragment);
}
