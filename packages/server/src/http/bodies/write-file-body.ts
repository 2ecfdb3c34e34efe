import { isUtf8 } from 'node:buffer';
import { decodeBase64InPlace } from './base64.ts';
import { findString } from './find-string.ts';
import { notJson, parseJson } from './parse-json.ts';
import { unescapeInPlace } from './unescape.ts';

/** The body of a write, taken apart. */
export interface WriteFileParts {
  /** What JSON.parse gives, but with a stand-in for a `content` that is a string: one that keeps and breaks the same rules. */
  readonly body: unknown;
  /** The bytes to write; undefined if there are none to be had. */
  readonly content: Buffer | undefined;
}

const emptyStandIn = '';
const badBase64StandIn = '=';

/** Reads a write without a copy of its content: that is decoded where it lies. What is no JSON: 400. */
export function parseWriteFileBody(json: Buffer): WriteFileParts {
  const { body, content } = cutContent(json) ?? takeContent(parseJson(json));
  if (content === undefined || !isObject(body) || body.encoding !== 'base64') return { body, content };
  const decoded = decodeBase64InPlace(content);
  if (decoded === undefined) body.content = badBase64StandIn;
  return { body, content: decoded };
}

/** The content decoded in its place and the rest parsed without it; undefined if the content is not found in the text. */
function cutContent(json: Buffer): WriteFileParts | undefined {
  const span = findString(json, 'content');
  if (span === undefined) return undefined;
  // What is left of the content is two quotes.
  const body = parseJson(json.subarray(0, span.start), json.subarray(span.end));
  const text = json.subarray(span.start, span.end);
  const content = isUtf8(text) ? unescapeInPlace(text) : undefined;
  if (content === undefined) throw notJson();
  return { body, content };
}

/** The same with copies. */
function takeContent(body: unknown): WriteFileParts {
  if (!isObject(body) || typeof body.content !== 'string') return { body, content: undefined };
  const content = Buffer.from(body.content);
  body.content = emptyStandIn;
  return { body, content };
}

interface LooseBody {
  encoding?: unknown;
  content?: unknown;
}

function isObject(value: unknown): value is LooseBody {
  return typeof value === 'object' && value !== null;
}
