import { quoteForShell, quoteForTypeScript } from './create/quoting.ts';

/** The ways to use the service from a program or a terminal. */
export const languages = ['curl', 'cli', 'typescript'] as const;

export type SnippetLanguage = (typeof languages)[number];

export interface Snippet {
  readonly label: string;
  readonly language: 'shell' | 'typescript';
  readonly source: string;
}

export type Snippets = Readonly<Record<SnippetLanguage, Snippet>>;

/** What the snippets are for. */
export interface SnippetTarget {
  /** The address of the service. */
  readonly origin: string;
  /** Put into the snippets; without one they take it from the environment. */
  readonly key?: string | undefined;
}

/** The shell command that tries a new key. */
export function tryKeyWithCurl(origin: string, key: string): string {
  return `curl ${origin}/v1/account \\\n  -H "Authorization: Bearer ${key}"`;
}

/** A first sandbox. */
export function firstSandboxSnippets(target: SnippetTarget): Snippets {
  const { origin } = target;
  return snippets({
    curl: `curl -X POST ${quoteForShell(`${origin}/v1/sandboxes`)} \\\n  ${authorization(target)}`,
    cli: `${keyVariable(target)}mayfly login --url ${quoteForShell(origin)}\nmayfly create`,
    typescript: [
      "import { Mayfly } from '@mayfly/sdk';",
      '',
      ...clientLines(target),
      'const sandbox = await mayfly.sandboxes.create();',
      'console.log(sandbox.id);',
    ].join('\n'),
  });
}

/** A first command in the sandbox with this id. */
export function firstCommandSnippets(target: SnippetTarget, id: string): Snippets {
  const { origin } = target;
  return snippets({
    curl: [
      `curl -X POST ${quoteForShell(`${origin}/v1/sandboxes/${id}/exec`)} \\`,
      `  ${authorization(target)} \\`,
      "  -H 'Content-Type: application/json' \\",
      `  -d ${quoteForShell(JSON.stringify({ command: 'echo "hello from $(uname -m)"' }))}`,
    ].join('\n'),
    cli: `mayfly exec ${quoteForShell(id)} 'echo "hello from $(uname -m)"'`,
    typescript: [
      "import { Mayfly } from '@mayfly/sdk';",
      '',
      ...clientLines(target),
      `const sandbox = await mayfly.sandboxes.get(${quoteForTypeScript(id)});`,
      "console.log((await sandbox.exec('uname -a')).stdout);",
    ].join('\n'),
  });
}

function snippets(sources: Readonly<Record<SnippetLanguage, string>>): Snippets {
  return {
    curl: { label: 'curl', language: 'shell', source: sources.curl },
    cli: { label: 'Command line', language: 'shell', source: sources.cli },
    typescript: { label: 'TypeScript', language: 'typescript', source: sources.typescript },
  };
}

function authorization({ key }: SnippetTarget): string {
  return key === undefined
    ? '-H "Authorization: Bearer $MAYFLY_API_KEY"'
    : `-H ${quoteForShell(`Authorization: Bearer ${key}`)}`;
}

function keyVariable({ key }: SnippetTarget): string {
  return key === undefined ? '' : `MAYFLY_API_KEY=${quoteForShell(key)} `;
}

function clientLines({ origin, key }: SnippetTarget): readonly string[] {
  const baseUrl = `baseUrl: ${quoteForTypeScript(origin)}`;
  if (key === undefined) {
    return ['// The key is read from MAYFLY_API_KEY.', `const mayfly = new Mayfly({ ${baseUrl} });`];
  }
  return ['const mayfly = new Mayfly({', `  ${baseUrl},`, `  apiKey: ${quoteForTypeScript(key)},`, '});'];
}
