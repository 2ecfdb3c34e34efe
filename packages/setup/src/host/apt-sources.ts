import type { AptArchive } from './facts.ts';

/** The archives in the output of `apt-get --print-uris update`, each suite once. */
export function parsePrintedUris(output: string): readonly AptArchive[] {
  const archives = new Map<string, AptArchive>();
  for (const line of output.split('\n')) {
    const [, uri, suite] = /^'(.+?)\/+dists\/(.+?)\/(?:InRelease|Release)'/.exec(line) ?? [];
    if (uri !== undefined && suite !== undefined) archives.set(`${uri} ${suite}`, { uri, suite });
  }
  return [...archives.values()];
}

/** The Signed-By that a sources file gives to an archive: a key file or an embedded key; undefined when it gives none. */
export function findSignedBy(sourcesText: string, uri: string): string | undefined {
  const isSameUri = (text: string) => text.replace(/\/+$/, '') === uri;
  for (const stanza of sourcesText.split(/\n[ \t]*\n/)) {
    const uris = /^URIs:(.*)$/im.exec(stanza)?.[1]?.trim().split(/\s+/) ?? [];
    const signedBy = /^Signed-By:(.*(?:\n[ \t].*)*)/im.exec(stanza)?.[1]?.trim();
    if (signedBy && uris.some(isSameUri)) return signedBy;
  }
  for (const line of sourcesText.split('\n')) {
    const [, options, lineUri] = /^deb\s+\[(.*)\]\s+(\S+)/.exec(line.trim()) ?? [];
    const signedBy = options && /signed-by=(\S+)/.exec(options)?.[1];
    if (signedBy && lineUri !== undefined && isSameUri(lineUri)) return signedBy;
  }
  return undefined;
}

/** The sources file that adds one more suite of an archive the host already trusts. */
export function formatSources(archive: AptArchive, signedBy: string): string {
  return [
    'Types: deb',
    `URIs: ${archive.uri}`,
    `Suites: ${archive.suite}`,
    'Components: main',
    `Signed-By: ${signedBy}`,
    '',
  ].join('\n');
}
