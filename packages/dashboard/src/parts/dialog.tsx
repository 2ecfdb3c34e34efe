import { X } from 'lucide-react';
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  /** Whether Escape, a click beside it and the cross close it; otherwise only what is in it does. */
  readonly isDismissible?: boolean;
  /** For lines that are long. */
  readonly isWide?: boolean;
}

/** What somebody who opens a dialog is about to fill in. */
const firstField = 'input:is(:checked, :not([type="radio"])):enabled:read-write, input[type="radio"]:checked:enabled';

/** A modal dialog while it is rendered. The browser keeps the focus inside, and gives it back afterwards. */
export function Dialog({ title, children, onClose, isDismissible = true, isWide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // The browser would begin with the cross.
    shown?.querySelector<HTMLElement>(firstField)?.focus();
    return () => {
      shown?.close();
      // What opened it may be gone by now.
      if (document.activeElement === document.body) document.querySelector('h1')?.focus();
    };
  }, []);
  return (
    // The keyboard has Escape for what the click does.
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (isDismissible) onClose();
      }}
      onPointerDown={(event) => {
        if (isDismissible && event.target === dialog.current) onClose();
      }}
      className={`m-auto w-[calc(100vw-2rem)] ${isWide ? 'max-w-176' : 'max-w-136'} animate-rise rounded-xl border border-line bg-float p-0 text-ink shadow-float open:block max-sm:mb-4`}
    >
      <div className="p-6">
        <div className="mb-4 flex items-start justify-between gap-4">
          <h2 id={titleId} className="text-lg font-semibold tracking-tight">
            {title}
          </h2>
          {isDismissible && (
            <button
              type="button"
              aria-label="Close"
              onClick={onClose}
              className="-m-2 grid size-9 place-items-center rounded-md text-soft hover:bg-panel hover:text-ink"
            >
              <X size={18} aria-hidden />
            </button>
          )}
        </div>
        {children}
      </div>
    </dialog>
  );
}

/** The buttons at the end of a dialog, the one that does it last. They stay in sight while a long dialog scrolls, which fades out above them. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return (
    <div className="sticky bottom-0 -mx-6 -mb-6 mt-3 flex flex-wrap justify-end gap-2 rounded-b-xl bg-float px-6 pt-3 pb-6 shadow-[0_-0.75rem_0.75rem_-0.25rem_var(--color-float)]">
      {children}
    </div>
  );
}
