import { type SizeName, sizeNames } from '@mayfly/contract';
import { z } from 'zod';

const maxOfOneSize = 100;
const error = `must be sizes and numbers, e.g. small=1,large=2 (at most ${maxOfOneSize} of one size), or none`;

/** How many machines of each size wait ready, e.g. `small=1,medium=2`; `none` for no pool. */
export const poolSetting = z.string({ error }).transform((text, context) => {
  const targets: Partial<Record<SizeName, number>> = {};
  if (text.trim() === 'none') return targets;
  for (const part of text.split(',')) {
    const [, size, count] = /^\s*(\w+)\s*=\s*(\d{1,3})\s*$/.exec(part) ?? [];
    const name = sizeNames.find((known) => known === size);
    if (name === undefined || targets[name] !== undefined || Number(count) > maxOfOneSize) {
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    }
    targets[name] = Number(count);
  }
  return targets;
});
