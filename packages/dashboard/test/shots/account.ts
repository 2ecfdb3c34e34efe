import type { Page } from 'playwright-core';
import type { FakeState } from '../fake/area.ts';
import { cutChanges } from '../fake/changes.ts';
import { keys } from '../sample-data.ts';
import type { Shot } from './shot.ts';

const signedOut = (state: FakeState) => {
  state.session = undefined;
};
const signIn = async (page: Page) => {
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};
const manyKeys = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...keys[index % 4], id: `key_${index}` }) as (typeof keys)[number]);

export const accountShots: readonly Shot[] = [
  { name: 'sign-in', path: '/sign-in', prepare: signedOut },
  {
    name: 'sign-in-wrong',
    path: '/keys',
    prepare: (state) => {
      signedOut(state);
      const message = 'The e-mail address or the password is wrong.';
      state.failures.set('POST /session', [401, 'wrong_credentials', message]);
    },
    act: async (page) => {
      await signIn(page);
      await page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'sign-in-code',
    path: '/sign-in',
    prepare: (state) => {
      signedOut(state);
      state.failures.set('POST /session', [401, 'code_required', 'Send a code.']);
    },
    act: async (page) => {
      await signIn(page);
      await page.getByLabel('Code').fill('492 039');
    },
  },
  {
    name: 'sign-in-link',
    path: '/sign-in#link=made-up',
    prepare: signedOut,
    act: async (page) => {
      if (page.url().includes('made-up')) throw new Error(`The token is still in the address: ${page.url()}`);
    },
  },
  {
    name: 'sign-in-new-password',
    path: '/sign-in#link=made-up',
    prepare: signedOut,
    act: async (page) => {
      await page.getByRole('button', { name: 'Sign in with the link' }).click();
      await page.getByLabel('New password').fill('too short');
      await page.getByRole('button', { name: 'Save the password' }).click();
    },
  },
  { name: 'keys', path: '/keys' },
  {
    name: 'keys-none',
    path: '/keys',
    prepare: (state) => {
      state.keys = [];
    },
  },
  {
    name: 'keys-near-limit',
    path: '/keys',
    prepare: (state) => {
      state.keys = manyKeys(9);
    },
  },
  {
    name: 'keys-create',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
    },
  },
  {
    name: 'keys-created',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name').fill('CI of the web shop');
      await page.keyboard.press('Enter');
      await page.getByLabel('The key', { exact: true }).waitFor();
    },
  },
  {
    name: 'keys-revoke',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Revoke Laptop of Ada' }).click();
    },
  },
  { name: 'settings', path: '/settings' },
  {
    name: 'settings-password',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Change the password' }).click();
    },
  },
  {
    name: 'settings-two-factor',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Set it up' }).click();
      await page.getByLabel('Code', { exact: true }).waitFor();
    },
  },
  {
    name: 'settings-recovery-codes',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Set it up' }).click();
      await page.getByLabel('Code', { exact: true }).fill('492039');
      await page.getByRole('button', { name: 'Enable', exact: true }).click();
      await page.getByRole('button', { name: 'I have stored them' }).waitFor();
    },
  },
  {
    name: 'account-menu',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: /^Account/ }).click();
      await page.keyboard.press('ArrowDown');
    },
  },
  { name: 'theme-menu', path: '/keys', act: (page) => page.getByRole('button', { name: /^Theme/ }).click() },
  { name: 'not-found', path: '/sandboxes/nothing/here' },
  {
    name: 'page-error',
    path: '/settings',
    prepare: (state) => {
      const message = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';
      state.failures.set('GET /session', [500, 'internal_error', message]);
    },
  },
  {
    name: 'connection-lost',
    path: '/sandboxes',
    act: async (page, state) => {
      state.isDown = true;
      cutChanges();
      await page.getByText('The service cannot be reached.').waitFor();
    },
  },
];
