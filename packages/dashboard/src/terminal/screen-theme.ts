import type { ITheme } from '@xterm/xterm';

/** The tokens that a terminal shows each of its colours with. The bright ones are the same: bold text shows what is meant by them. */
const tokens = {
  background: 'page',
  foreground: 'ink',
  cursor: 'accent',
  cursorAccent: 'page',
  selectionBackground: 'tint',
  selectionForeground: 'ink',
  black: 'ink',
  brightBlack: 'soft',
  red: 'red',
  brightRed: 'red',
  green: 'green',
  brightGreen: 'green',
  yellow: 'amber',
  brightYellow: 'amber',
  blue: 'blue',
  brightBlue: 'blue',
  magenta: 'magenta',
  brightMagenta: 'magenta',
  cyan: 'cyan',
  brightCyan: 'cyan',
  white: 'soft',
  brightWhite: 'ink',
  scrollbarSliderBackground: 'line',
  scrollbarSliderHoverBackground: 'edge',
  scrollbarSliderActiveBackground: 'edge',
} as const satisfies Partial<Record<keyof ITheme, string>>;

/** The colours of a terminal, in the theme that is shown now. */
export function readScreenTheme(element: HTMLElement): ITheme {
  // What `light-dark()` stands for is only known of a colour that is used.
  const probe = document.createElement('span');
  // A transition, however short, would show the colour before.
  probe.style.transition = 'none';
  element.append(probe);
  const theme = Object.fromEntries(
    Object.entries(tokens).map(([name, token]) => {
      probe.style.color = `var(--color-${token})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return theme;
}
