import type { Page } from 'playwright-core';
import { commands, emptyId, failedId, shownId } from '../fake/machine.ts';
import { endedSandboxes } from '../sample-data.ts';
import type { Shot } from './shot.ts';

const shown = `/sandboxes/${shownId}`;
const ended = `/sandboxes/${endedSandboxes[0]?.id}`;

/** Lets the tab remember commands, as if they had been started in it. */
const rememberCommands = async (page: Page) => {
  const stored = JSON.stringify(JSON.stringify(commands));
  await page.evaluate(`sessionStorage.setItem('commands ${shownId}', ${stored})`);
  await page.reload();
  await page.getByText('npm test -- --watch').first().waitFor();
};
const waitForOutput = async (page: Page) => {
  await rememberCommands(page);
  await page.getByText('build failed after').waitFor();
};

export const machineShots: readonly Shot[] = [
  { name: 'machine-overview', path: shown, act: (page) => page.getByText('214 processes').waitFor() },
  {
    name: 'machine-overview-cursor',
    path: shown,
    act: async (page) => {
      await page.getByText('214 processes').waitFor();
      await page.getByRole('slider', { name: 'Network' }).focus();
      for (let step = 0; step < 25; step += 1) await page.keyboard.press('ArrowLeft');
    },
  },
  {
    name: 'machine-failed',
    path: `/sandboxes/${failedId}`,
    act: (page) => page.getByRole('heading', { name: 'Details' }).waitFor(),
  },
  { name: 'machine-ended-ports', path: `${ended}/ports` },
  {
    name: 'machine-ended-commands',
    path: `${ended}/commands?execution=exec_ended`,
    act: async (page) => page.getByText('Linux mayfly').waitFor(),
  },
  { name: 'machine-unknown', path: '/sandboxes/sbx_nothing' },
  {
    name: 'machine-menu',
    path: shown,
    act: async (page) => {
      await page.getByText('214 processes').waitFor();
      const menu = page.getByRole('button', { name: 'Actions' });
      if (await menu.isVisible()) await menu.click();
    },
  },
  { name: 'machine-commands', path: `${shown}/commands`, act: rememberCommands },
  {
    name: 'machine-commands-none',
    path: `/sandboxes/${emptyId}/commands`,
    act: async (page) => page.getByText('No command yet').waitFor(),
  },
  { name: 'machine-commands-output', path: `${shown}/commands?execution=exec_build`, act: waitForOutput },
  {
    name: 'machine-commands-search',
    path: `${shown}/commands?execution=exec_build`,
    act: async (page) => {
      await waitForOutput(page);
      await page.getByLabel('Search in the output').fill('chunk-1');
      for (let step = 0; step < 2; step += 1) await page.getByRole('button', { name: 'Next match' }).click();
    },
  },
  {
    name: 'machine-commands-running',
    path: `${shown}/commands?execution=exec_running`,
    act: async (page) => {
      await rememberCommands(page);
      await page.getByLabel('Send a line').waitFor();
      await page.getByText('Options').click();
      await page.getByLabel('Command', { exact: true }).fill('for port in 80 443\ndo\n  nc -z example.com $port\ndone');
    },
  },
  { name: 'machine-ports', path: `${shown}/ports`, act: (page) => page.getByText('8080').first().waitFor() },
  {
    name: 'machine-ports-frame',
    path: `${shown}/ports`,
    act: async (page) => {
      await page.route('https://*.preview.example.com/**', (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: '<h1 style="font-family: sans-serif">Hello from port 3000</h1>',
        }),
      );
      await page.route('**/preview-root.crt', (route) => route.fulfill({ body: 'PEM' }));
      await page.getByRole('button', { name: 'Show here' }).first().click();
      await page.frameLocator('iframe').getByText('Hello from').waitFor();
      await page.getByText('Nothing here?').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'machine-ports-code',
    path: `${shown}/ports`,
    act: (page) => page.getByRole('button', { name: 'QR code of port 3000' }).click(),
  },
  {
    name: 'machine-snapshots',
    path: `/sandboxes/${emptyId}/snapshots`,
    act: (page) => page.getByText('after npm install', { exact: true }).waitFor(),
  },
  {
    name: 'machine-snapshots-roll-back',
    path: `/sandboxes/${emptyId}/snapshots`,
    act: (page) => page.getByRole('button', { name: 'Roll back to after npm install' }).click(),
  },
];
