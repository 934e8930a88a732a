// The names of addresses in this browser, with import and export.
import { useSignal } from "@preact/signals";
import { addLabels, labels, parseLabels, setLabel } from "../labels.ts";
import { toBech32 } from "../format/address.ts";
import { type Column, Failure, Table } from "../parts/data.tsx";
import { Field } from "../parts/form.tsx";
import { save } from "../parts/file.ts";
import { announce } from "../parts/live.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Address, ChainText } from "../parts/text.tsx";

const columns: Array<Column<[hex: string, name: string]>> = [
  { title: "Name", cell: ([, name]) => <ChainText text={name} /> },
  { title: "Address", cell: ([hex]) => <Address hex={hex} whole /> },
  {
    title: "Action",
    cell: ([hex, name]) => (
      <button type="button" class="link" aria-label={`Remove ${name}`} onClick={() => setLabel(hex, "")}>
        Remove
      </button>
    ),
  },
];

function download(): void {
  const names = Object.fromEntries(Object.entries(labels.peek()).map(([hex, name]) => [toBech32(hex), name]));
  save(JSON.stringify(names, null, 2), "silica-names.json", "application/json");
}

/** Maximum size of an imported file in bytes. The local storage of a browser has about 5 MB. */
const largestFile = 1_000_000;

export default function LabelsPage() {
  const error = useSignal<Error | null>(null);
  const rows = Object.entries(labels.value).sort(([, a], [, b]) => a.localeCompare(b));
  const read = async (file: File | undefined) => {
    if (!file) return;
    error.value = null;
    try {
      if (file.size > largestFile) throw new Error(`expected a file of at most ${largestFile} bytes, got ${file.size}`);
      const more = parseLabels(await file.text());
      addLabels(more);
      announce(`${Object.keys(more).length} names were imported`);
    } catch (cause) {
      error.value = cause as Error;
    }
  };
  return (
    <Page title="Names of addresses" lead="Names that you give on the pages of addresses. They are in the storage of this browser only.">
      <Section
        title="Names"
        action={
          rows.length > 0 && (
            <button type="button" onClick={download}>
              Export
            </button>
          )
        }
      >
        {rows.length ? (
          <Table caption="Names" columns={columns} rows={rows} id={([hex]) => hex} />
        ) : (
          <p class="muted">No address has a name. The page of an address has a form for its name.</p>
        )}
      </Section>
      <Section title="Import">
        <div class="narrow">
          <Field label="File with names" hint="A JSON object from addresses to names. A name replaces an earlier name of the same address.">
            {(attributes) => (
              <input {...attributes} type="file" accept=".json,application/json" onChange={(event) => read(event.currentTarget.files?.[0])} />
            )}
          </Field>
          {error.value && <Failure error={error.value} />}
        </div>
      </Section>
    </Page>
  );
}
