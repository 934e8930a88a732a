// The frame of each page: one title and one heading, which gets the focus after a navigation.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

let firstPage = true;

export function Page({ title, lead, children }: { title: string; lead?: ComponentChildren; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Silica Studio`;
  }, [title]);
  useEffect(() => {
    // The browser itself places the focus when the page opens.
    if (!firstPage) heading.current?.focus({ preventScroll: true });
    firstPage = false;
  }, []);
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </>
  );
}

/** A titled part of a page. */
export function Section({ title, action, children }: { title: string; action?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section>
      <div class="section-head">
        <h2>{title}</h2>
        {action}
      </div>
      {children}
    </section>
  );
}

/** Tabs of a page as links: the tab is part of the route, so it can be copied and works with the back button. */
export function Tabs({ label, tabs, current }: { label: string; tabs: Array<{ id: string; title: string; href: string }>; current: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.id} href={tab.href} aria-current={tab.id === current ? "page" : undefined}>
          {tab.title}
        </a>
      ))}
    </nav>
  );
}
