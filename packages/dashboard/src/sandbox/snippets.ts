import type { Snippet } from '../sandboxes/snippets.ts';

export const languages = ['cli', 'curl', 'typescript'] as const;
export type SnippetLanguage = (typeof languages)[number];

/** The usual things to do with a sandbox that exists. `origin` is the address of the service. */
export function connectSnippets(origin: string, id: string): Readonly<Record<SnippetLanguage, Snippet>> {
  return {
    cli: {
      label: 'Command line',
      language: 'shell',
      source: [
        `mayfly shell ${id}`,
        `mayfly exec ${id} 'uname -a'`,
        `mayfly cp ./src ${id}:app`,
        `mayfly port ${id} 3000`,
      ].join('\n'),
    },
    curl: {
      label: 'curl',
      language: 'shell',
      source: [
        `curl ${origin}/v1/sandboxes/${id}/exec \\`,
        '  -H "Authorization: Bearer $MAYFLY_API_KEY" \\',
        `  -d '{"command": "uname -a"}'`,
      ].join('\n'),
    },
    typescript: {
      label: 'TypeScript',
      language: 'typescript',
      source: [
        "import { Mayfly } from '@mayfly/sdk';",
        '',
        `const mayfly = new Mayfly({ baseUrl: '${origin}' });`,
        `const sandbox = await mayfly.sandboxes.get('${id}');`,
        "console.log((await sandbox.exec('uname -a')).stdout);",
      ].join('\n'),
    },
  };
}
