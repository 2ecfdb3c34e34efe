import type { Page } from 'playwright-core';
import { changedContents } from '../fake/files.ts';
import { shells } from '../fake/terminal.ts';
import type { Shot } from './shot.ts';

const path = '/sandboxes/sbx_q2m7rk4t5x3vb6ynz7pahcdw/terminal';

const files = (file: string) => `/sandboxes/sbx_q2m7rk4t5x3vb6ynz7pahcdw/files?${new URLSearchParams({ path: file })}`;

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
  {
    name: 'files',
    path: files('/workspace/src'),
    act: (page) => page.getByText('style.css').filter({ visible: true }).first().waitFor(),
  },
  {
    name: 'files-text',
    path: files('/workspace/count.py'),
    act: async (page) => {
      await page.getByRole('textbox', { name: 'Content of count.py' }).click();
      await page.keyboard.press('End');
      await page.keyboard.type('  # mine');
      await page.getByText('Not saved').waitFor();
    },
  },
  {
    name: 'files-conflict',
    path: files('/workspace/count.py'),
    act: async (page) => {
      await page.getByRole('textbox', { name: 'Content of count.py' }).click();
      await page.keyboard.type('# mine');
      changedContents.set('/workspace/count.py', 'print("theirs")\n');
      await page.keyboard.press('Control+s');
      await page.getByRole('button', { name: 'Show their version' }).click();
      changedContents.clear();
    },
  },
  {
    name: 'files-picture',
    path: files('/workspace/logo.svg'),
    act: async (page) => page.getByRole('img', { name: 'logo.svg' }).waitFor(),
  },
  {
    name: 'files-large',
    path: files('/workspace/backup.tar'),
    act: async (page) => page.getByText('too large to be shown').waitFor(),
  },
  {
    name: 'files-uploads',
    path: files('/workspace'),
    act: async (page) => {
      const content = Buffer.from('hello');
      const names = ['report.txt', 'notes.md', '<b>bold.txt'];
      const sent = names.map((name) => ({ name, mimeType: 'text/plain', buffer: content }));
      const large = { name: 'movie.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(8_388_609) };
      await page.getByLabel('Files to upload').setInputFiles([...sent, large]);
      await page.getByText('2 of 4').waitFor();
    },
  },
];
