import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Does some work while a program of the host fails whenever it is called by its name. */
export const withBrokenProgram = async (program: string, work: () => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-broken-'));
  const { PATH } = process.env;
  try {
    await writeFile(join(folder, program), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    process.env.PATH = `${folder}:${PATH}`;
    await work();
  } finally {
    process.env.PATH = PATH;
    await rm(folder, { recursive: true, force: true });
  }
};
