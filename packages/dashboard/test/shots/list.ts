import type { Shot } from './shot.ts';

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
    name: 'sandboxes-none-failed',
    path: '/sandboxes?status=failed',
    prepare: (state) => {
      state.hasSandboxes = false;
    },
  },
  {
    name: 'sandboxes-error',
    path: '/sandboxes',
    prepare: (state) => {
      const message = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';
      state.failures.set('GET /sandboxes', [500, 'internal_error', message]);
    },
  },
];
