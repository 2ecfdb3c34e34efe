import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../..');

/** One Markdown page of the repository. */
export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block: its language and its content. */
export interface Snippet {
  readonly language: string;
  readonly content: string;
}

/** Every page that describes Mayfly: those at the root, in docs/ and the README of each folder. */
export function documentationPages(): Page[] {
  const folders = ['bench', 'docs', 'guest', 'native'];
  const nested = folders.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name))),
  );
  const top = readdirSync(repositoryRoot).filter((name) => name.endsWith('.md'));
  return [...top, ...nested].sort().map(readPage);
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(repositoryRoot, path), 'utf8') };
}

/** The fenced blocks of a page, in order. */
export function snippetsOf({ text }: Page): Snippet[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', content = '']) => ({
    language,
    content,
  }));
}

/** What stands between backticks in the running text. */
export function inlineCode({ text }: Page): string[] {
  const withoutSnippets = text.replace(/^```.*?^```$/gms, '');
  return [...withoutSnippets.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** The targets of links to other pages of the repository. */
export function localLinks({ text }: Page): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^\w+:/.test(target));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ text }: Page): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
