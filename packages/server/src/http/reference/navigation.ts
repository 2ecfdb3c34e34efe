import type { Chapter, OpenApiDocument } from '@mayfly/contract';
import { type Html, html } from './html.ts';
import { objectNames } from './objects.ts';
import { operationsOf } from './operation.ts';

/** Links to everything on the page; folded away on a small screen. */
export function renderNavigation(
  document: OpenApiDocument,
  before: readonly Chapter[],
  after: readonly Chapter[],
): Html {
  const operations = operationsOf(document);
  const ofTag = (tag: string) =>
    operations
      .filter(({ operation }) => operation.tags[0] === tag)
      .map(({ operation: { operationId, summary }, method }) => link(operationId, summary, method));
  const links = html`
    ${group('Guide', before.map(chapterLink))}
    ${document.tags.map(({ name }) => group(name, ofTag(name)))}
    ${group(
      'Objects',
      objectNames(document).map((name) => link(name, name)),
    )}
    ${group('Appendix', after.map(chapterLink))}`;
  return html`
    <nav aria-label="Contents">
      <details class="folded"><summary>Contents</summary>${links}</details>
      <div class="open">${links}</div>
    </nav>`;
}

const chapterLink = ({ id, title }: Chapter) => link(id, title);

function group(title: string, links: readonly Html[]): Html {
  return html`<h2>${title}</h2><ul>${links}</ul>`;
}

function link(id: string, title: string, method?: string): Html {
  const badge =
    method && html`<span class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</span>`;
  return html`<li><a href="#${id}"><span>${title}</span>${badge}</a></li>`;
}
