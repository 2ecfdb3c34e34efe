import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** The value of each colour in both themes. */
type Colours = ReadonlyMap<string, Readonly<Record<'light' | 'dark', string>>>;

function coloursIn(path: string, prefix: string): Colours {
  const css = readFileSync(new URL(path, import.meta.url), 'utf8');
  const declarations = css.matchAll(/--([\w-]+):\s*light-dark\((#[\da-f]{6}),\s*(#[\da-f]{6})\)/g);
  return new Map(
    Array.from(declarations, ([, name = '', light = '', dark = '']) => [name.replace(prefix, ''), { light, dark }]),
  );
}

const tokens = coloursIn('tokens.css', 'color-');
const themes = ['light', 'dark'] as const;

function colour(name: string, theme: 'light' | 'dark'): string {
  const value = tokens.get(name)?.[theme];
  if (value === undefined) throw new Error(`there is no colour ${name}`);
  return value;
}

/** The relative luminance of WCAG 2.2. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const channel = Number.parseInt(hex.slice(start, start + 2), 16) / 255;
    return channel <= 0.040_45 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test('contrast is computed as WCAG does', () => {
  expect(contrast('#000000', '#ffffff')).toBe(21);
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
});

describe.each(themes)('in the %s theme', (theme) => {
  const texts = ['ink', 'soft', 'accent', 'green', 'blue', 'amber', 'red'] as const;
  const backgrounds = ['page', 'panel', 'float', 'code', 'tint'] as const;
  const pairs = [
    ...texts.flatMap((text) => backgrounds.map((background) => [text, background] as const)),
    ['ink', 'raised'],
    ['soft', 'raised'],
    ['on-accent', 'accent'],
    ['on-accent', 'accent-strong'],
  ] as const;

  test.each(pairs)('text in %s on %s has a contrast of at least 4.5', (text, background) => {
    expect(contrast(colour(text, theme), colour(background, theme))).toBeGreaterThanOrEqual(4.5);
  });

  const marks = [...tokens.keys()].filter((name) => /^chart-|-mark$|^edge$|^accent$/.test(name));

  test.each(marks)('the mark %s has a contrast of at least 3 to the page', (mark) => {
    expect(contrast(colour(mark, theme), colour('page', theme))).toBeGreaterThanOrEqual(3);
  });
});

test('colours that the reference has too are the same', () => {
  const reference = coloursIn('../../../server/src/http/reference/style/base.css', '');
  expect(reference.size).toBeGreaterThan(10);
  for (const [name, value] of reference) expect([name, tokens.get(name)]).toEqual([name, value]);
});
