import { inject } from 'vitest';
import type { Prepared } from '#setup/prepare.ts';

/** The results of set-up that the suites need. */
export type PreparedHost = Pick<Prepared, 'engine' | 'templates' | 'tools' | 'artifacts'> &
  Partial<Pick<Prepared, 'compiledCodeDir'>>;

declare module 'vitest' {
  interface ProvidedContext {
    host: PreparedHost;
  }
}

/** The engine, templates, tools and guest files that set-up provided. */
export function preparedHost(): PreparedHost {
  return inject('host');
}
