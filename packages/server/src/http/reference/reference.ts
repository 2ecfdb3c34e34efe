import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { guide, type Limits, openApiDocument } from '@mayfly/contract';
import { renderPage } from './page.ts';

/** The parts of the page's style; later ones win. */
const styleFiles = ['base', 'text', 'code-and-tables', 'frame', 'operations', 'small-screens'];
const style = styleFiles.map((name) => readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8')).join('\n');

/** The page loads nothing and runs nothing; its own style is the only one that counts. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The reference for programs and for people. */
export interface Reference {
  readonly json: string;
  readonly page: string;
}

/** Renders both from one document. */
export function renderReference(limits: Limits, publicUrl: string, previewUrl: string): Reference {
  const options = { limits, publicUrl, previewUrl };
  const document = openApiDocument(options);
  return { json: JSON.stringify(document), page: renderPage(document, guide(options), style) };
}
