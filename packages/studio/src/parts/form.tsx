// Inputs of forms. Each input has a label, and an error has a link to its input for screen readers.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Failure } from "./data.tsx";

export interface FieldProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  children: (attributes: { id: string; "aria-describedby": string | undefined; "aria-invalid": "true" | undefined }) => ComponentChildren;
}

/** A label, an input, a hint and an error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described, "aria-invalid": error ? "true" : undefined })}
      {hint && (
        <div id={`${id}-hint`} class="hint">
          {hint}
        </div>
      )}
      {error && (
        <div id={`${id}-error`} class="error">
          {error}
        </div>
      )}
    </div>
  );
}

/** A line of text. */
export function TextField({ value, onValue, type = "text", ...field }: Omit<FieldProps, "children"> & {
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "search" | "datetime-local";
  placeholder?: string;
  list?: string;
  inputMode?: "numeric" | "decimal" | "text";
}) {
  const { label, hint, error, placeholder, list, inputMode } = field;
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <input
          {...attributes}
          type={type}
          value={value}
          placeholder={placeholder}
          list={list}
          inputMode={inputMode}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A button that runs an action, shows that it runs, and shows its error. */
export function Action({ run, children, primary = false, disabled = false }: {
  run: () => Promise<void>;
  children: ComponentChildren;
  primary?: boolean;
  disabled?: boolean;
}) {
  const state = useSignal<{ running: boolean; error?: Error }>({ running: false });
  const start = async () => {
    state.value = { running: true };
    try {
      await run();
      state.value = { running: false };
    } catch (error) {
      state.value = { running: false, error: error instanceof Error ? error : new Error(String(error)) };
    }
  };
  return (
    <>
      <button type="button" class={primary ? "primary" : undefined} disabled={disabled || state.value.running} onClick={start}>
        {children}
      </button>
      {state.value.error && <Failure error={state.value.error} />}
    </>
  );
}
