import type { Block, Chapter } from './guide.ts';

/** Chapters as the Markdown that readers of OpenAPI show. */
export function markdownOf(chapters: readonly Chapter[]): string {
  return chapters.map(({ title, blocks }) => [`## ${title}`, ...blocks.map(blockOf)].join('\n\n')).join('\n\n');
}

function blockOf(block: Block): string {
  if ('text' in block) return block.text;
  if ('code' in block) return fenced('', block.code);
  if ('json' in block) return fenced('json', JSON.stringify(block.json, null, 2));
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(block.head), line(block.head.map(() => '---')), ...block.rows.map(line)].join('\n');
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
}
