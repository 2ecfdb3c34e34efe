import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretBox, secretKeyBytes } from './secret-box.ts';

test('what was sealed is opened with the same key only, and only unchanged', () => {
  const box = new SecretBox(randomBytes(secretKeyBytes));
  const sealed = box.seal('JBSWY3DPEHPK3PXP');
  expect(sealed).not.toContain('JBSWY3DPEHPK3PXP');
  expect(box.seal('JBSWY3DPEHPK3PXP')).not.toBe(sealed);
  expect(box.open(sealed)).toBe('JBSWY3DPEHPK3PXP');
  expect(new SecretBox(randomBytes(secretKeyBytes)).open(sealed)).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64');
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(box.open(changed.toString('base64'))).toBeUndefined();
  }
  expect(box.open('')).toBeUndefined();
});
