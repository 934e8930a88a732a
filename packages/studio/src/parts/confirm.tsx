// A button whose action cannot be undone: it asks first.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Failure } from "./data.tsx";

export interface ConfirmProps {
  /** The text of the button. */
  children: ComponentChildren;
  title: string;
  /** What the action does. */
  question: ComponentChildren;
  /** The text of the button that runs the action. */
  action: string;
  run: () => Promise<void>;
  disabled?: boolean;
}

/** A button with a dialog that runs the action. After the dialog, the focus returns to the button. */
export function Confirm({ children, title, question, action, run, disabled = false }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const state = useSignal<{ running: boolean; error?: Error }>({ running: false });
  const button = useRef<HTMLButtonElement>(null);
  const heading = useId();
  useEffect(
    () => () => {
      // The action can remove the row of the button.
      if (document.activeElement === button.current) document.querySelector("h1")?.focus();
    },
    [],
  );
  const start = async () => {
    state.value = { running: true };
    try {
      await run();
      state.value = { running: false };
      dialog.current?.close();
    } catch (error) {
      state.value = { running: false, error: error instanceof Error ? error : new Error(String(error)) };
    }
  };
  const open = () => {
    state.value = { running: false };
    dialog.current?.showModal();
  };
  return (
    <>
      <button ref={button} type="button" disabled={disabled} onClick={open}>
        {children}
      </button>
      <dialog ref={dialog} aria-labelledby={heading}>
        <h2 id={heading}>{title}</h2>
        <p>{question}</p>
        {state.value.error && <Failure error={state.value.error} />}
        <div class="buttons">
          <button type="button" class="primary" disabled={state.value.running} onClick={start}>
            {action}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </dialog>
    </>
  );
}
