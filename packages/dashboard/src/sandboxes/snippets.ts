/** The ways to use the service from a program or a terminal. */
export const languages = ['curl', 'cli', 'typescript'] as const;

export type SnippetLanguage = (typeof languages)[number];

export interface Snippet {
  readonly label: string;
  readonly language: 'shell' | 'typescript';
  readonly source: string;
}

/** The shell command that creates a sandbox with a key that is in the environment. */
function createWithCurl(origin: string): string {
  return `curl -X POST ${origin}/v1/sandboxes \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"`;
}

/** The shell command that tries a new key. */
export function tryKeyWithCurl(origin: string, key: string): string {
  return `curl ${origin}/v1/account \\\n  -H "Authorization: Bearer ${key}"`;
}

/** A first sandbox with a first command. `origin` is the address of the service. */
export function firstSandboxSnippets(origin: string): Readonly<Record<SnippetLanguage, Snippet>> {
  return {
    curl: { label: 'curl', language: 'shell', source: createWithCurl(origin) },
    cli: {
      label: 'Command line',
      language: 'shell',
      source: `mayfly login --url ${origin}\nmayfly run 'echo "hello from $(uname -m)"'`,
    },
    typescript: {
      label: 'TypeScript',
      language: 'typescript',
      source: [
        "import { Mayfly } from '@mayfly/sdk';",
        '',
        '// The key is read from MAYFLY_API_KEY.',
        `const mayfly = new Mayfly({ baseUrl: '${origin}' });`,
        'await using sandbox = await mayfly.sandboxes.create();',
        "console.log((await sandbox.exec('uname -a')).stdout);",
      ].join('\n'),
    },
  };
}
