// What surrounds each page: links, search, state of the connection.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { settings } from "./node.ts";
import { Failure } from "./parts/data.tsx";
import { LiveRegion, announce } from "./parts/live.tsx";
import { Page } from "./parts/page.tsx";
import { BlockLink } from "./parts/text.tsx";
import { pages, type PageModule } from "./routes.ts";
import { go, link, route } from "./router.ts";
import { connection, generation, head } from "./rpc/socket.ts";
import { destinations, helpOpen, setShortcuts, shortcutsOn } from "./shortcuts.ts";
import { nextTheme, theme } from "./theme.ts";

const links: Array<[title: string, path: string]> = [
  ["Home", ""],
  ["Blocks", "blocks"],
  ["Transactions", "transactions"],
  ["Contracts", "contracts"],
  ["Accounts", "accounts"],
  ["Tokens", "tokens"],
  ["Deploy", "deploy"],
  ["Proof", "proof"],
  ["Node", "node"],
  ["RPC", "rpc"],
  ["Tools", "tools"],
];

export function Frame() {
  const current = route.value.path[0] ?? "";
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header>
        <a class="brand" href="#/">
          Silica Studio
        </a>
        <Search />
        <Status />
        <button type="button" onClick={nextTheme} aria-label={`Colours: ${theme.value}. Change`}>
          ◐ {theme.value}
        </button>
        <nav aria-label="Pages">
          {links.map(([title, path]) => (
            <a key={path} href={`#/${path}`} aria-current={path === current ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <Content />
      </main>
      <footer>
        <span>{settings.value ? `Silica ${settings.value.version}` : "Silica"}</span>
        <button type="button" class="link" onClick={() => (helpOpen.value = true)}>
          Keys
        </button>
        <a href="licenses.txt">Licences</a>
      </footer>
      <Help />
      <LiveRegion />
    </>
  );
}

// A link to `#main` would be a route.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Content() {
  const name = route.value.path[0] ?? "";
  const loaded = useSignal<{ name: string; page?: ComponentType; error?: Error }>({ name: "\u0000" });
  const open = (name: string) => {
    const found = pages[name];
    if (!found) return (loaded.value = { name, page: Missing });
    return found().then(
      (module: PageModule) => {
        if ((route.peek().path[0] ?? "") === name) loaded.value = { name, page: module.default };
      },
      () => (loaded.value = { name, error: new Error("the page cannot be loaded; the node may have another version") }),
    );
  };
  useEffect(() => void open(name), [name]);
  const { page: Current, error, name: shown } = loaded.value;
  if (shown !== name) return null;
  if (error || !Current) return <Failure error={error ?? new Error("no page")} retry={() => location.reload()} />;
  // Another address or block is another page: its state starts anew.
  return <Current key={route.value.path.slice(0, 2).join("/")} />;
}

const Missing = () => <Page title="Page not found" lead={`The node has no page ${route.value.path.join("/")}.`} />;

function Search() {
  const text = useSignal("");
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.value.trim()) go(["search", text.value.trim()]);
      }}
    >
      <label class="visually-hidden" for="search">
        Search for a block, hash, address or name
      </label>
      <input
        id="search"
        type="search"
        placeholder="Block, hash, address, name"
        value={text.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <button type="submit">Search</button>
    </form>
  );
}

const announceEvery = 5_000;

function Status() {
  const number = head.value?.number ?? settings.value?.latestBlock;
  const last = useRef(0);
  const shown = useRef(generation.peek());
  useSignalEffect(() => {
    const block = head.value;
    // A screen reader gets at most one message in 5 s.
    if (!block || Date.now() - last.current < announceEvery) return;
    last.current = Date.now();
    announce(`Block ${block.number}`);
  });
  useSignalEffect(() => {
    if (generation.value !== shown.current) announce("The lists were read again");
    shown.current = generation.value;
  });
  return (
    <span class="status">
      <span class={`dot ${connection.value}`} aria-hidden="true" />
      {connection.value === "open" ? "connected" : connection.value === "closed" ? "disconnected, reconnecting" : "connecting"}
      {number !== undefined && (
        <>
          {" · block "}
          <BlockLink number={number} />
        </>
      )}
    </span>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useSignalEffect(() => {
    if (helpOpen.value) dialog.current?.showModal();
  });
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl class="facts">
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Search</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>This list</dd>
        </div>
        {Object.entries(destinations).map(([key, { path, title }]) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>
              <a href={link(path)} onClick={() => dialog.current?.close()}>
                {title}
              </a>
            </dd>
          </div>
        ))}
      </dl>
      <label>
        <input type="checkbox" checked={shortcutsOn.value} onChange={(event) => setShortcuts(event.currentTarget.checked)} />
        {" Single keys are active"}
      </label>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}
