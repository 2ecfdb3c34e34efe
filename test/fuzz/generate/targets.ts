import fc from 'fast-check';
import { hostileString } from './hostile.ts';

/** A text as a URL carries it. */
export const escaped = (text: string): string => encodeURIComponent(text.toWellFormed());

/** A part of a path that names nothing, or that cannot be decoded. */
export const hostilePathPart = fc.oneof(
  hostileString.map((text) => escaped(text.slice(0, 3000))),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%2F',
    '%2e%2e',
    '..',
    '.',
    '',
    ';x=1',
    '%ff%fe',
    '%C0%80',
    'a'.repeat(9000),
    '*',
    '|',
    '{}',
    "'",
    '\\',
  ),
);

/** A query that is doubled, nested, cut off or far too long. */
export const hostileQuery = fc.oneof(
  hostileString.map((text) => `?${escaped(text.slice(0, 2000))}`),
  fc.constantFrom(
    '?',
    '??',
    '?&&&',
    '?=',
    '?limit',
    '?limit=1&limit=2',
    '?limit[]=1',
    '?limit[a][b]=1',
    '?path[0]=x&path[1]=y',
    '?path=%',
    '?path=%00',
    '?path=a&path=b',
    '?__proto__=1',
    '?limit=%00',
    `?${'a=1&'.repeat(2000)}`,
    '?list=TRUE',
    '?days=٣',
    '?path=%ff',
    '#fragment',
  ),
);
