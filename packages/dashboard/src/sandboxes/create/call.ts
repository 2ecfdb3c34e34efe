import type { SizeName } from '@mayfly/contract';
import type { Snippet, SnippetLanguage } from '../snippets.ts';
import { quoteForShell, quoteForTypeScript } from './quoting.ts';

/** A sandbox to be created. */
export interface NewSandbox {
  readonly size: SizeName;
  /** Empty for none. */
  readonly name: string;
  readonly minutes: number;
  /** What it is a copy of; its size is then the size of the snapshot. */
  readonly snapshotId: string | undefined;
}

interface Body {
  readonly size?: SizeName;
  readonly snapshot_id?: string;
  readonly name?: string;
  readonly timeout_minutes: number;
}

/** The body of the request that creates it. */
export function bodyOf({ size, name, minutes, snapshotId }: NewSandbox): Body {
  const trimmed = name.trim();
  return {
    ...(snapshotId === undefined ? { size } : { snapshot_id: snapshotId }),
    ...(trimmed !== '' && { name: trimmed }),
    timeout_minutes: minutes,
  };
}

/** The same request in each language. `origin` is the address of the service; the key is in the environment. */
export function callSnippets(wanted: NewSandbox, origin: string): Readonly<Record<SnippetLanguage, Snippet>> {
  return {
    curl: { label: 'curl', language: 'shell', source: callWithCurl(wanted, origin) },
    cli: { label: 'Command line', language: 'shell', source: callWithCli(wanted, origin) },
    typescript: { label: 'TypeScript', language: 'typescript', source: callWithTypeScript(wanted, origin) },
  };
}

function callWithCurl(wanted: NewSandbox, origin: string): string {
  return [
    `curl -X POST ${quoteForShell(`${origin}/v1/sandboxes`)} \\`,
    '  -H "Authorization: Bearer $MAYFLY_API_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoteForShell(JSON.stringify(bodyOf(wanted)))}`,
  ].join('\n');
}

function callWithCli(wanted: NewSandbox, origin: string): string {
  const { size, snapshot_id, name, timeout_minutes } = bodyOf(wanted);
  const options = [
    ['url', origin],
    ['size', size],
    ['snapshot', snapshot_id],
    ['name', name],
    ['lifetime', `${timeout_minutes}`],
  ] as const;
  const words = options.flatMap(([option, value]) => {
    if (value === undefined) return [];
    // The word after an option must not begin with a dash.
    return value.startsWith('-') ? [`--${option}=${quoteForShell(value)}`] : [`--${option} ${quoteForShell(value)}`];
  });
  return ['mayfly create', ...words].join(' \\\n  ');
}

function callWithTypeScript(wanted: NewSandbox, origin: string): string {
  const { size, snapshot_id, name, timeout_minutes } = bodyOf(wanted);
  return [
    "import { Mayfly } from '@mayfly/sdk';",
    '',
    `const mayfly = new Mayfly({ baseUrl: ${quoteForTypeScript(origin)} });`,
    'const sandbox = await mayfly.sandboxes.create({',
    ...(size === undefined ? [] : [`  size: ${quoteForTypeScript(size)},`]),
    ...(snapshot_id === undefined ? [] : [`  snapshotId: ${quoteForTypeScript(snapshot_id)},`]),
    ...(name === undefined ? [] : [`  name: ${quoteForTypeScript(name)},`]),
    `  lifetimeMinutes: ${timeout_minutes},`,
    '});',
    'console.log(sandbox.id);',
  ].join('\n');
}
