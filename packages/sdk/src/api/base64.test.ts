import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

describe.each(['with Buffer', 'without Buffer'])('base64 %s', (runtime) => {
  it('keeps all bytes', async () => {
    const samples = [0, 1, 2, 3, 100_000].map((length) => randomBytes(length));
    const expected = samples.map((bytes) => bytes.toString('base64'));
    if (runtime === 'without Buffer') vi.stubGlobal('Buffer', undefined);
    const { decodeBase64, encodeBase64 } = await import('./base64.ts');
    const encoded = samples.map((bytes) => encodeBase64(bytes));
    const decoded = encoded.map(decodeBase64);
    vi.unstubAllGlobals();
    expect(encoded).toEqual(expected);
    expect(decoded).toEqual(samples.map((bytes) => new Uint8Array(bytes)));
  });
});
