import type { Page } from 'playwright-core';
import { shells } from '../fake/terminal.ts';
import type { Shot } from './shot.ts';

const path = '/sandboxes/sbx_q2m7rk4t5x3vb6ynz7pahcdw/terminal';

function prepare(changes: Partial<typeof shells>): () => void {
  return () =>
    void Object.assign(shells, { exitCode: undefined, isCut: false, ids: ['term_aaaa', 'term_bbbb'] }, changes);
}

const showsText = (page: Page, text: string) => page.locator('.xterm-rows', { hasText: text }).waitFor();

export const terminalShots: readonly Shot[] = [
  {
    name: 'terminal',
    path,
    prepare: prepare({}),
    act: async (page) => {
      await showsText(page, 'true colour');
      await page.keyboard.press('Shift+Home');
    },
  },
  {
    name: 'terminal-ended',
    path,
    prepare: prepare({ exitCode: 3 }),
    act: async (page) => {
      await page.getByText('The shell exited with code').waitFor();
      await page.getByRole('tab').nth(1).click();
    },
  },
  {
    name: 'terminal-lost',
    path,
    prepare: prepare({}),
    act: async (page, state) => {
      await showsText(page, 'true colour');
      shells.isCut = true;
      await page.getByRole('tab').nth(1).click();
      await page.getByText('The connection was lost').waitFor();
      state.isDown = true;
    },
  },
  {
    name: 'terminal-close',
    path,
    prepare: prepare({}),
    act: async (page) => {
      await showsText(page, 'true colour');
      await page.keyboard.press('Control+Shift+L');
      await page.keyboard.press('Delete');
      await page.getByRole('dialog').waitFor();
    },
  },
];
