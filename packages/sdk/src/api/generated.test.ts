import { expect, test } from 'vitest';
import { errorClasses, resourceTypes } from '../../test/generate.ts';

test('the types of the resources match the contract', async () => {
  await expect(resourceTypes()).toMatchFileSnapshot('resources.ts');
});

test('there is an error class for every type of error', async () => {
  await expect(errorClasses()).toMatchFileSnapshot('error-classes.ts');
});
