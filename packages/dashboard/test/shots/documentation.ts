import { shownId } from '../fake/machine.ts';
import { shells } from '../fake/terminal.ts';
import type { Shot } from './shot.ts';

interface Picture extends Shot {
  readonly theme: 'light' | 'dark';
}

const sandbox = `/sandboxes/${shownId}`;

/** The pictures of the documentation, wide. Each has the name of its file in docs/pictures. */
export const pictures: readonly Picture[] = [
  { name: 'sandboxes', theme: 'light', path: '/sandboxes' },
  {
    name: 'sandbox',
    theme: 'dark',
    path: sandbox,
    act: (page) => page.getByText('63 processes').waitFor(),
  },
  {
    name: 'terminal',
    theme: 'dark',
    path: `${sandbox}/terminal`,
    prepare: () => void Object.assign(shells, { exitCode: undefined, isCut: false, ids: ['term_aaaa', 'term_bbbb'] }),
    act: (page) => page.locator('.xterm-rows', { hasText: '125 passed' }).waitFor(),
  },
  {
    name: 'files',
    theme: 'light',
    path: `${sandbox}/files?path=%2Fworkspace%2Fsrc%2Fserver.ts`,
    act: (page) => page.getByRole('textbox', { name: 'Content of server.ts' }).waitFor(),
  },
  {
    name: 'usage',
    theme: 'light',
    path: '/usage',
    act: (page) => page.getByRole('slider').waitFor(),
  },
];
