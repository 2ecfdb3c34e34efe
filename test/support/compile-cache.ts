// A setup file of Vitest, and the first: what tests import is compiled once for all processes and runs.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { afterAll } from 'vitest';

enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled-tests'));
// Node.js would write it at the process's end, but Vitest ends its processes with a signal.
afterAll(() => flushCompileCache());
