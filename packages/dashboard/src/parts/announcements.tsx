import { useSyncExternalStore } from 'react';

interface Announcement {
  readonly id: number;
  readonly text: string;
}

const shownMs = 5_000;
let current: Announcement | undefined;
let lastId = 0;
const listeners = new Set<() => void>();

/** Says that something has happened, to all readers, wherever they are on the page. */
export function announce(text: string): void {
  lastId += 1;
  const id = lastId;
  change({ id, text });
  setTimeout(() => {
    if (current?.id === id) change(undefined);
  }, shownMs);
}

function change(next: Announcement | undefined): void {
  current = next;
  for (const listener of listeners) listener();
}

function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where announcements appear. The region must exist before its text does. */
export function Announcements() {
  const shown = useSyncExternalStore(onChange, () => current);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-5 z-30 flex justify-center"
    >
      {shown && (
        <p key={shown.id} className="animate-rise rounded-lg bg-ink px-4 py-2.5 text-sm text-page shadow-float">
          {shown.text}
        </p>
      )}
    </div>
  );
}
