import type { Block, Chapter } from '@mayfly/contract';
import { codeBlock, jsonCode } from './code.ts';
import { type Html, html, prose } from './html.ts';

/** One chapter of what holds for all operations. */
export function renderChapter({ id, title, blocks }: Chapter): Html {
  return html`
    <section class="chapter" id="${id}">
      <h2><a href="#${id}">${title}</a></h2>
      ${blocks.map((block) => renderBlock(block, id))}
    </section>`;
}

function renderBlock(block: Block, chapter: string): Html {
  if ('text' in block) return html`<p>${prose(block.text)}</p>`;
  if ('code' in block) return codeBlock(html`${block.code}`, 'code');
  if ('json' in block) return jsonCode(block.json);
  const head = block.head.map((cell) => html`<th scope="col">${cell}</th>`);
  const rows = block.rows.map((cells) => {
    const marked = cells.map((cell, column) => {
      const kind = /^`[^`]+`$/.test(cell) && html` class="whole"`;
      return html`<td data-label="${block.head[column]}"${kind}>${prose(cell)}</td>`;
    });
    return html`<tr${rowId(chapter, cells)}>${marked}</tr>`;
  });
  return html`
    <div class="table" tabindex="0" role="region" aria-label="Table">
      <table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table>
    </div>`;
}

/** The rows of the error table can be linked to. */
function rowId(chapter: string, [, type = '']: readonly string[]): Html | undefined {
  return chapter === 'errors' ? html` id="error-${type.replaceAll('`', '')}"` : undefined;
}
