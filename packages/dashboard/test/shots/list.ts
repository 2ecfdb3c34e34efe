import type { Page } from 'playwright-core';
import type { FakeState } from '../fake/area.ts';
import { announceChange } from '../fake/changes.ts';
import { manySandboxes } from '../sample-data.ts';
import type { Shot } from './shot.ts';

const fleet = (state: FakeState) => {
  state.sandboxCount = 1_000;
};
const openMenu = (page: Page) => page.getByRole('button', { name: 'Actions for nightly build' }).click();
const choose = async (page: Page, item: string) => {
  await openMenu(page);
  await page.getByRole('menuitem', { name: item }).click();
};
const serviceFailed = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';

/** Afterwards no row is inserted above others any more. */
const untilOldest = (page: Page) => page.getByLabel('Select agent 99', { exact: true }).waitFor();

export const listShots: readonly Shot[] = [
  { name: 'sandboxes', path: '/sandboxes' },
  { name: 'sandboxes-all', path: '/sandboxes?status=all' },
  {
    name: 'sandboxes-first',
    path: '/sandboxes',
    prepare: (state) => {
      state.hasSandboxes = false;
      state.keys = [];
    },
    act: async (page) => {
      await page.getByText('TypeScript').click();
    },
  },
  {
    name: 'sandboxes-first-key',
    path: '/sandboxes',
    prepare: (state) => {
      state.hasSandboxes = false;
      state.keys = [];
    },
    act: async (page, state) => {
      await page.getByRole('button', { name: 'Create a key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Laptop');
      await page.keyboard.press('Enter');
      await page.getByLabel('The key', { exact: true }).waitFor();
      state.hasSandboxes = true;
      state.sandboxCount = 1;
      await page.getByRole('button', { name: 'I have stored the key' }).click();
      for (const sandbox of manySandboxes(1)) announceChange(sandbox);
      await page.getByText('is running.').waitFor();
    },
  },
  {
    name: 'sandboxes-none-failed',
    path: '/sandboxes?status=failed',
    prepare: (state) => {
      state.hasSandboxes = false;
    },
  },
  { name: 'sandboxes-no-match', path: '/sandboxes?q=nothing+like+it&size=large' },
  {
    name: 'sandboxes-error',
    path: '/sandboxes',
    prepare: (state) => {
      state.failures.set('GET /sandboxes', [500, 'internal_error', serviceFailed]);
    },
  },
  { name: 'sandboxes-menu', path: '/sandboxes', act: openMenu },
  { name: 'sandboxes-extend', path: '/sandboxes', act: (page) => choose(page, 'Extend') },
  { name: 'sandboxes-fork', path: '/sandboxes', act: (page) => choose(page, 'Fork') },
  {
    name: 'sandboxes-forked',
    path: '/sandboxes',
    act: async (page) => {
      await choose(page, 'Fork');
      await page.getByLabel('Copies', { exact: true }).fill('3');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Done' }).waitFor();
    },
  },
  { name: 'sandboxes-snapshot', path: '/sandboxes', act: (page) => choose(page, 'Take a snapshot') },
  { name: 'sandboxes-delete', path: '/sandboxes', act: (page) => choose(page, 'Delete') },
  {
    name: 'sandboxes-many',
    path: '/sandboxes?sort=name',
    prepare: fleet,
    act: async (page) => {
      await page.getByText('1000 sandboxes').waitFor({ state: 'attached' });
      await page.evaluate('scrollTo(0, 20000)');
      await page.waitForFunction('Number(document.querySelector("tbody tr[data-index]")?.dataset.index) > 50');
    },
  },
  {
    name: 'sandboxes-selected',
    path: '/sandboxes?q=agent+99&sort=name',
    prepare: fleet,
    act: async (page) => {
      await untilOldest(page);
      await page.getByLabel('Select agent 990').click();
      await page.getByLabel('Select agent 994').click({ modifiers: ['Shift'] });
    },
  },
  {
    name: 'sandboxes-bulk',
    path: '/sandboxes?q=agent+99&sort=name',
    prepare: fleet,
    act: async (page) => {
      await untilOldest(page);
      await page.getByLabel('Select agent 990').click();
      await page.getByLabel('Select agent 998').click({ modifiers: ['Shift'] });
      await page.getByRole('region', { name: 'Selected sandboxes' }).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 9 sandboxes' }).click();
      await page.getByText(/done, \d failed|All 9 done/).waitFor();
    },
  },
  { name: 'create', path: '/sandboxes?create=true' },
  {
    name: 'create-from',
    path: '/sandboxes?create=true&from=snap_b3ycdrfh6k3vz5p2wq7mx4tn',
    prepare: (state) => {
      state.failures.set('POST /sandboxes', [
        503,
        'capacity_unavailable',
        'The host has no room for another sandbox of this size. Try again later, or choose a smaller one.',
      ]);
    },
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill("it's <b>hostile</b>");
      await page.getByText('Command line').click();
      await page.getByRole('button', { name: 'Create sandbox' }).last().click();
      await page.getByRole('alert').waitFor();
    },
  },
  { name: 'snapshots', path: '/snapshots' },
  {
    name: 'snapshots-none',
    path: '/snapshots',
    prepare: (state) => {
      state.hasSnapshots = false;
    },
  },
  {
    name: 'snapshots-delete',
    path: '/snapshots',
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for after npm install' }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
    },
  },
];
