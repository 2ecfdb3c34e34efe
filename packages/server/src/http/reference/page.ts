import type { Chapter, OpenApiDocument } from '@mayfly/contract';
import { renderChapter } from './guide.ts';
import { Html, html } from './html.ts';
import { iconUrl, logo } from './logo.ts';
import { renderNavigation } from './navigation.ts';
import { objectNames, renderObject } from './objects.ts';
import { operationsOf, renderOperation } from './operation.ts';

/** Chapters to look things up in, which come last. */
const appendix: ReadonlySet<string> = new Set(['errors', 'retries', 'limits']);

/** The whole reference as one page that needs nothing else. */
export function renderPage(document: OpenApiDocument, chapters: readonly Chapter[], style: string): string {
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
  <a class="button" href="openapi.json">OpenAPI 3.1</a>
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
      <p>What answers are made of. Answers may gain fields; a client ignores those it does not know.</p>
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
