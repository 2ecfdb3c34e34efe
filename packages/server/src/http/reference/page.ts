import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Block, type Chapter, guide, type Limits, type OpenApiDocument, openApiDocument } from '@mayfly/contract';
import { codeBlock, Html, html, jsonCode, prose } from './html.ts';
import { renderLanguageChoice, renderSamples } from './samples.ts';
import { objectNames, operationsOf, renderObject, renderOperation } from './sections.ts';

/** The OpenAPI document and the page, rendered. */
export interface Reference {
  readonly json: string;
  readonly page: string;
}

export function renderReference(limits: Limits, publicUrl: string, previewUrl: string): Reference {
  const options = { limits, publicUrl, previewUrl };
  const document = openApiDocument(options);
  return { json: JSON.stringify(document), page: renderPage(document, guide(options), style) };
}

/** In cascade order: later files override earlier ones. */
const styleFiles = ['base', 'layout', 'samples', 'small-screens'];
const style = styleFiles.map((name) => readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8')).join('\n');

/** Lets the page load and run nothing, and apply only its own style. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Ids of the chapters that come last, for looking things up. */
const appendix: ReadonlySet<string> = new Set(['errors', 'retries', 'limits']);

/** The whole reference as one page that loads nothing else. */
function renderPage(document: OpenApiDocument, chapters: readonly Chapter[], style: string): string {
  const before = chapters.filter(({ id }) => !appendix.has(id));
  const after = chapters.filter(({ id }) => appendix.has(id));
  const { title, version, summary } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API reference</title>
<meta name="description" content="${summary}">
<link rel="icon" href="${iconUrl}">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
  <a class="brand" href="#">${logo}<strong>${title}</strong> <span>API reference</span></a>
  ${renderLanguageChoice(operationsOf(document)[0]?.operation['x-codeSamples'] ?? [])}
  <a class="button" href="openapi.json">OpenAPI<span> 3.1</span></a>
</header>
<div class="layout">
  ${renderNavigation(document, before, after)}
  <main id="main">
    <div class="hero">
      <h1>${title} API</h1>
      <p>${summary}</p>
      <p class="base"><span class="label">Base URL</span> <code>${document.servers[0]?.url}</code> <span class="label">Version ${version}</span></p>
    </div>
    ${before.map(renderChapter)}
    ${document.tags.map((tag) => renderTag(document, tag))}
    <section id="objects">
      <h2><a href="#objects">Objects</a></h2>
      <p>The objects in responses. Responses may gain fields; clients should ignore those they do not know.</p>
      ${objectNames(document).map((name) => renderObject(document, name))}
    </section>
    ${after.map(renderChapter)}
  </main>
</div>
</body>
</html>
`.text;
}

function renderTag(document: OpenApiDocument, { name, description }: OpenApiDocument['tags'][number]): Html {
  const operations = operationsOf(document).filter(({ operation }) => operation.tags[0] === name);
  return html`
    <section id="tag-${name}">
      <h2><a href="#tag-${name}">${name}</a></h2>
      <p>${description}</p>
      ${operations.map((placed) => renderOperation(document, placed))}
    </section>`;
}

/** Links to everything on the page; collapsed on a small screen. */
function renderNavigation(document: OpenApiDocument, before: readonly Chapter[], after: readonly Chapter[]): Html {
  const operations = operationsOf(document);
  const linksOf = (tag: string) =>
    operations
      .filter(({ operation }) => operation.tags[0] === tag)
      .map(({ operation: { operationId, summary }, method }) => link(operationId, summary, method));
  const links = html`
    ${group('Guide', before.map(chapterLink))}
    ${document.tags.map(({ name }) => group(name, linksOf(name)))}
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

function chapterLink({ id, title }: Chapter): Html {
  return link(id, title);
}

function group(title: string, links: readonly Html[]): Html {
  return html`<h2>${title}</h2><ul>${links}</ul>`;
}

function link(id: string, title: string, method?: string): Html {
  const badge =
    method && html`<span class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</span>`;
  return html`<li><a href="#${id}"><span>${title}</span>${badge}</a></li>`;
}

/** A chapter of the guide, which covers what applies to all operations. */
function renderChapter({ id, title, blocks }: Chapter): Html {
  return html`
    <section class="chapter" id="${id}">
      <h2><a href="#${id}">${title}</a></h2>
      ${blocks.map((block) => renderBlock(block, id))}
    </section>`;
}

function renderBlock(block: Block, chapter: string): Html {
  if ('text' in block) return html`<p>${prose(block.text)}</p>`;
  if ('code' in block) return codeBlock(html`${block.code}`, 'code');
  if ('samples' in block) return renderSamples(block.samples);
  if ('json' in block) return jsonCode(block.json);
  const head = block.head.map((cell) => html`<th scope="col">${cell}</th>`);
  const rows = block.rows.map((cells) => {
    const columns = cells.map((cell, column) => {
      const kind = /^`[^`]+`$/.test(cell) && html` class="whole"`;
      return html`<td data-label="${block.head[column]}"${kind}>${prose(cell)}</td>`;
    });
    return html`<tr${rowId(chapter, cells)}>${columns}</tr>`;
  });
  return html`
    <div class="table" tabindex="0" role="region" aria-label="Table">
      <table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table>
    </div>`;
}

/** An anchor for each row of the error table. */
function rowId(chapter: string, [, type = '']: readonly string[]): Html | undefined {
  return chapter === 'errors' ? html` id="error-${type.replaceAll('`', '')}"` : undefined;
}

const logo = html`<svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true"><path d="M12 13.500C10.500 7.500 6.500 3.500 2 3c0 6 4 10.500 10 10.500Zm0 0C13.500 7.500 17.500 3.500 22 3c0 6-4 10.500-10 10.500Z" fill="currentColor"/><path d="M12 11v6m0 0c-.4 1.800-1.400 3.300-3 4.500m3-4.500c.4 1.800 1.400 3.300 3 4.500" fill="none" stroke="currentColor" stroke-width="1.500" stroke-linecap="round"/></svg>`;

const iconUrl = `data:image/svg+xml,${encodeURIComponent(
  logo.text.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" color="#5b5bd6" '),
)}`;
