import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defaultLimits, openApiDocument } from '@mayfly/contract';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
/** Many times what a compiler takes. */
const deadlineMs = 600_000;

test(
  'the samples of the reference compile in strict mode, and use everything they declare',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-samples-'));
    try {
      await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
      await writeFile(join(folder, 'package.json'), '{"type":"module"}');
      for (const [name, source] of programs()) await writeFile(join(folder, `${name}.ts`), source);
      const files = programs().map(([name]) => `${name}.ts`);
      const compilerOptions = { typeRoots: [join(root, 'node_modules/@types')] };
      const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
      const tsc = join(root, 'node_modules/typescript-7/bin/tsc');
      const compiling = promisify(execFile)(process.execPath, [tsc, '-p', folder], { timeout: deadlineMs });
      expect((await compiling.catch(({ stdout }: { stdout: string }) => ({ stdout }))).stdout).toBe('');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  deadlineMs,
);

/** The sample of each operation and the quick start, as programs. */
function programs(): readonly (readonly [string, string])[] {
  const document = openApiDocument({ limits: defaultLimits, publicUrl: 'http://h', previewUrl: 'https://p' });
  const prelude = "import { Mayfly } from '@mayfly/sdk';\nconst mayfly = new Mayfly();\n";
  const [quickStart = ''] = document.info.description.split('\n## Authentication');
  const steps = [...quickStart.matchAll(/```typescript\n(.*?)```/gs)].map(([, code]) => code);
  const samples = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .map((operation) => {
      const sample = operation['x-codeSamples'].find(({ lang }) => lang === 'TypeScript');
      return [operation.operationId, `${prelude}${sample?.source}\n`] as const;
    });
  return [['quickStart', steps.join('')], ...samples];
}
