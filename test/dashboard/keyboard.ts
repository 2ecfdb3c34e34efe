import type { Page } from 'playwright-core';

const maxPresses = 60;

/** The name of what has the focus, as it is announced, near enough for tests. */
const focusedName = `(() => {
  const element = document.activeElement;
  const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent;
  return name.replaceAll(/\\s+/g, ' ').trim();
})()`;

export function readFocusedName(page: Page): Promise<string> {
  return page.evaluate<string>(focusedName);
}

/** Presses a key until something with this name has the focus, which must be visible. Throws with the names that it passed if nothing does. */
export async function pressUntil(page: Page, key: string, name: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < maxPresses; presses++) {
    await page.keyboard.press(key);
    const focused = await readFocusedName(page);
    if (focused === name) {
      const isVisible = await page.evaluate<boolean>('document.activeElement.matches(":focus-visible")');
      if (!isVisible) throw new Error(`The focus on ${name} is not visible.`);
      return;
    }
    passed.push(focused);
  }
  throw new Error(`${key} does not lead to ${name}, but to: ${[...new Set(passed)].join(' | ')}`);
}
