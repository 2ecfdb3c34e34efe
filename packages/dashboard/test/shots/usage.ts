import type { Shot } from './shot.ts';

export const usageShots: readonly Shot[] = [
  { name: 'usage', path: '/usage' },
  { name: 'usage-week', path: '/usage?days=7', act: (page) => page.getByRole('slider').hover() },
  {
    name: 'usage-quarter',
    path: '/usage?days=90&show=runtime',
    act: async (page) => {
      await page.getByRole('slider').focus();
      for (let days = 0; days < 12; days++) await page.keyboard.press('ArrowLeft');
    },
  },
  {
    name: 'usage-table',
    path: '/usage?days=7',
    act: async (page) => {
      await page.getByText('The numbers as a table').click();
      await page.getByText('The numbers as a table').scrollIntoViewIfNeeded();
      await page.evaluate('scrollBy(0, 500)');
    },
  },
  {
    name: 'usage-limits',
    path: '/usage',
    act: async (page) => page.getByText('For each sandbox').scrollIntoViewIfNeeded(),
  },
  {
    name: 'usage-none',
    path: '/usage',
    prepare: (state) => {
      state.hasSandboxes = false;
    },
  },
  {
    name: 'usage-error',
    path: '/usage',
    prepare: (state) => {
      const message = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';
      state.failures.set('GET /usage/days', [500, 'internal_error', message]);
    },
  },
];
