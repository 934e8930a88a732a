// The form for the name of an address.
import { useSignal } from "@preact/signals";
import { labelLength, labels, setLabel } from "../labels.ts";
import { TextField } from "./form.tsx";
import { announce } from "./live.tsx";

export function LabelForm({ hex }: { hex: string }) {
  const name = labels.value[hex] ?? "";
  const text = useSignal(name);
  return (
    <details>
      <summary>{name ? "Change the name in this browser" : "Give the address a name"}</summary>
      <form
        class="narrow"
        onSubmit={(event) => {
          event.preventDefault();
          setLabel(hex, text.value);
          announce("The name was saved");
        }}
      >
        <TextField
          label="Name"
          hint={`The page shows the name instead of the address. The name stays in this browser. At most ${labelLength} characters; an empty name removes it.`}
          error={text.value.length > labelLength ? `expected at most ${labelLength} characters, got ${text.value.length}` : undefined}
          value={text.value}
          onValue={(value) => (text.value = value)}
        />
        <button type="submit" disabled={text.value.length > labelLength || text.value.trim() === name}>
          Save
        </button>{" "}
        <a href="#/labels">All names</a>
      </form>
    </details>
  );
}
