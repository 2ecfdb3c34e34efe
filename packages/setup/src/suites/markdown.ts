import { type Suite, suites } from './suites.ts';

/** The table of suites in CONTRIBUTING.md. */
export function suiteTable(table: readonly Suite[] = suites): string {
  const rows = table.map((suite) => `| ${suite.name} | ${suite.shows} | ${placeOf(suite)} | ${suite.long ?? ''} |`);
  return ['| suite | what it shows | in `npm test` | long form |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function placeOf({ alone, runs }: Suite): string {
  if (runs === 'on KVM') return 'no: `npm run test:kvm`';
  if (runs === 'last') return 'last';
  return alone === undefined ? 'side by side' : `alone: ${alone}`;
}
