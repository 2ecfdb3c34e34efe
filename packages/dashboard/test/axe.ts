import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** The part of a finding of axe-core that is read. */
export interface Violation {
  readonly id: string;
  readonly impact?: string | null;
  readonly help: string;
  readonly nodes: readonly FoundNode[];
}

/** An element with a finding. */
interface FoundNode {
  readonly html: string;
  readonly failureSummary?: string;
  /** Selectors that lead to the element. */
  readonly target: Selectors;
  readonly any: readonly { readonly relatedNodes?: readonly { readonly target: Selectors }[] }[];
}

type Selectors = readonly (string | readonly string[])[];

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** WCAG 2.2 AA, and what axe-core calls best practice. */
const run = `axe.run(document, {
  resultTypes: ['violations'],
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then(({ violations }) => violations)`;

/** What axe-core finds on the page as it is. Evaluated from outside, so the content security policy does not apply. */
export async function auditPage(page: Page): Promise<readonly Violation[]> {
  // What fades in has no contrast yet.
  await page.evaluate(
    'Promise.all(document.getAnimations().map((one) => one.effect.getTiming().iterations === Infinity || one.finished.catch(() => {})))',
  );
  await page.evaluate(source);
  const violations = await page.evaluate<readonly Violation[]>(run);
  return violations.map(withoutCovered).filter(({ nodes }) => nodes.length > 0);
}

/**
 * Without targets that a bar covers at the moment: they can be scrolled out from under it. Neither counts what is found about the space between them and
 * their neighbours, because it is measured to the part that is visible.
 */
function withoutCovered(violation: Violation): Violation {
  if (violation.id !== 'target-size') return violation;
  const isCovered = ({ failureSummary }: FoundNode) => failureSummary?.includes('partially obscured') ?? false;
  const covered = new Set(violation.nodes.filter(isCovered).map(({ target }) => String(target)));
  const nodes = violation.nodes.filter((node) => {
    const neighbours = node.any.flatMap(({ relatedNodes = [] }) => relatedNodes);
    return !isCovered(node) && !neighbours.some(({ target }) => covered.has(String(target)));
  });
  return { ...violation, nodes };
}

/** Whether a page with it must not be shipped. */
export function isGrave({ impact }: Violation): boolean {
  return impact === 'serious' || impact === 'critical';
}

export function describeViolation({ id, impact, help, nodes }: Violation): string {
  const places = nodes.slice(0, 3).map(({ html, failureSummary = '' }) => {
    return `    ${html.slice(0, 160)}\n      ${failureSummary.split('\n').slice(1, 3).join(' ').trim()}`;
  });
  return `${impact ?? 'unknown'} ${id}: ${help}, ${nodes.length} times\n${places.join('\n')}`;
}
