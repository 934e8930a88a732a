// The local storage of the browser. A browser can forbid it, so a failure is the same as an empty storage.

const prefix = "silica-studio/";

export function load(key: string): string | null {
  try {
    return localStorage.getItem(prefix + key);
  } catch {
    return null;
  }
}

export function save(key: string, value: string): void {
  try {
    localStorage.setItem(prefix + key, value);
  } catch {
    // The choice holds until the page is closed.
  }
}
