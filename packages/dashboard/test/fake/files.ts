import type { DirectoryEntry } from '@mayfly/contract';
import { type Answer, type FakeRequest, type FakeState, refusal } from './area.ts';
import { exampleContents, exampleFolders } from './example.ts';

const script = `#!/usr/bin/env python3
"""Counts words, and is long enough for colours."""
import sys
from collections import Counter


def count(path: str, limit: int = 10) -> list[tuple[str, int]]:
    # Everything at once: the files are small.
    with open(path, encoding="utf-8") as text:
        words = Counter(text.read().lower().split())
    return words.most_common(limit)


if __name__ == "__main__":
    for word, times in count(sys.argv[1]):
        print(f"{times:6d}  {word}")
`;

/** 16 by 16 pixels, one colour. */
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 120"><rect width="240" height="120" rx="12" fill="#4b4bc9"/><circle cx="120" cy="60" r="36" fill="#fff"/><script>alert(1)</script></svg>';

const file = (name: string, size_bytes: number | null = 1_843): DirectoryEntry => ({ name, type: 'file', size_bytes });
const dir = (name: string): DirectoryEntry => ({ name, type: 'dir', size_bytes: null });

const folders: Readonly<Record<string, readonly DirectoryEntry[]>> = {
  '/': [dir('etc'), dir('home'), dir('workspace')],
  '/workspace': [
    file('.env', 31),
    dir('.git'),
    file('<img src=x onerror=alert(1)>.txt', 12),
    file('a name with\na line break "and quotes"', 5),
    file('backup.tar', 734_003_200),
    dir('build'),
    file('count.py', script.length),
    file('control.sock', null),
    file('invoice\u202Efdp.exe', 40_960),
    { name: 'latest', type: 'symlink', size_bytes: null },
    file('logo.svg', picture.length),
    file('notes.md'),
    dir('src'),
    file('a very long name that nobody would type and that does not fit into the tree at all.json', 98_304),
  ],
  '/workspace/src': [dir('components'), file('index.ts', 2_204), file('main.ts', 812), file('style.css', 7_130)],
  '/workspace/build': [],
};

const contents: Readonly<Record<string, string>> = {
  '/workspace/count.py': script,
  '/workspace/logo.svg': picture,
  '/workspace/notes.md': '# Notes\n\n- one\n- two\n',
};

/** The content that a file has for who saves it: of somebody who was quicker. */
export const changedContents = new Map<string, string>();

export function answerFiles({ operation, parameters }: FakeRequest, { isExample }: FakeState): Answer | undefined {
  if (!/ \/sandboxes\/[^/]+\/files$/.test(operation)) return undefined;
  if (operation.startsWith('PUT '))
    return { status: 201, body: { object: 'file', path: '/workspace/count.py', bytes: 1 } };
  const path = parameters.get('path') ?? '/workspace';
  const entries = (isExample ? exampleFolders : folders)[path];
  if (entries) return { body: { object: 'list', path, entries } };
  if (path === '/workspace/src/components') {
    return refusal(403, 'list_failed', `${path} could not be listed: permission denied.`);
  }
  const content = changedContents.get(path) ?? (isExample ? exampleContents : contents)[path];
  if (content === undefined) return refusal(404, 'not_found', `${path} could not be read: no such file or directory.`);
  return { body: { object: 'file', path, bytes: content.length, encoding: 'utf8', content } };
}
