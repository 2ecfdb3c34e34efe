import { expect, test } from 'vitest';
import { imageTypeOf, languageOf } from './language.ts';

test.each([
  ['index.ts', 'typescript'],
  ['App.TSX', 'tsx'],
  ['main.py', 'python'],
  ['package.json', 'json'],
  ['README.md', 'markdown'],
  ['Dockerfile', 'dockerfile'],
  ['Dockerfile.prod', 'dockerfile'],
  ['Cargo.toml', 'toml'],
  ['Cargo.lock', 'toml'],
  ['.bashrc', 'shell'],
  ['main.go', 'go'],
  ['lib.rs', 'rust'],
  ['a.tar.gz', undefined],
  ['json', undefined],
  ['constructor', undefined],
  ['a.__proto__', undefined],
  ['notes', undefined],
])('%s is %s', (name, language) => {
  expect(languageOf(name)).toBe(language);
});

test.each([
  ['#!/usr/bin/env python3', 'python'],
  ['#!/bin/bash -e', 'shell'],
  ['#!/usr/bin/env node', 'javascript'],
  ['#!/opt/unknown', undefined],
  ['python', undefined],
])('a script that begins with %s is %s', (firstLine, language) => {
  expect(languageOf('run', firstLine)).toBe(language);
  expect(languageOf('run.rb', firstLine)).toBe('ruby');
});

test('images are recognised by their names', () => {
  expect(['a.PNG', 'b.svg', 'png', 'c.txt'].map(imageTypeOf)).toEqual([
    'image/png',
    'image/svg+xml',
    'image/png',
    undefined,
  ]);
});
