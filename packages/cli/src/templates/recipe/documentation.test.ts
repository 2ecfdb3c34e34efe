import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDockerfile } from './dockerfile.ts';
import { parseYamlRecipe } from './yaml-recipe.ts';

const page = readFileSync(new URL('../../../../../docs/templates.md', import.meta.url), 'utf8');
const example = (language: string) => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';

test('the recipe in the documentation can be built', () => {
  const { alias, steps, finish } = parseYamlRecipe(example('yaml'));
  expect([alias, steps.length, finish?.start]).toEqual(['web-app', 5, 'npm start']);
});

test('the Dockerfile in the documentation can be built', () => {
  const { base, steps } = parseDockerfile(example('dockerfile'), { alias: 'web-app' });
  expect([base, steps.length]).toEqual(['small', 5]);
});
