/** What a person chose; `system` follows the device. */
export const themes = ['system', 'light', 'dark'] as const;

export type Theme = (typeof themes)[number];

const storageKey = 'mayfly-theme';
const listeners = new Set<() => void>();

/** The choice that this browser remembers. */
export function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return themes.find((theme) => theme === stored) ?? 'system';
  } catch {
    // Storage can be forbidden.
    return 'system';
  }
}

/** Remembers a choice and shows it. */
export function chooseTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Then it lasts until the page is loaded again.
  }
  showTheme(theme);
  for (const listener of listeners) listener();
}

/** The style does the rest: see `data-theme` in style.css. */
function showTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Calls the listener when the theme changes, in another tab too. Returns how to stop that. */
export function onThemeChange(listener: () => void): () => void {
  const onStorage = () => {
    showTheme(readTheme());
    listener();
  };
  listeners.add(listener);
  window.addEventListener('storage', onStorage);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', onStorage);
  };
}
