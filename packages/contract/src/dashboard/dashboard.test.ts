import { describe, expect, test } from 'vitest';
import { defaultLimits } from '../limits.ts';
import { defineOperations } from '../operations/all-operations.ts';
import { dashboardOperations, unmountedOperations } from './all-operations.ts';
import { dashboardErrorStatus } from './errors.ts';

describe('the operations of the dashboard', () => {
  test('share no method and path with each other or with an operation of /v1 that is mounted beside them', () => {
    const routeOf = ({ method, path }: { method: string; path: string }) =>
      `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
    const mounted = Object.entries(defineOperations(defaultLimits))
      .filter(([id]) => !unmountedOperations.some((unmounted) => unmounted === id))
      .map(([, operation]) => routeOf(operation));
    const routes = [...Object.values(dashboardOperations).map(routeOf), ...mounted];
    expect(routes.filter((route, index) => routes.indexOf(route) !== index)).toEqual([]);
  });

  test('have the name that the table gives them', () => {
    for (const [name, { id }] of Object.entries(dashboardOperations)) expect(id).toBe(name);
  });

  test('have a status for each of their errors', () => {
    for (const { errors } of Object.values(dashboardOperations)) {
      for (const type of errors) expect(dashboardErrorStatus(type)).toBeGreaterThanOrEqual(400);
    }
  });
});

describe('the name of a key', () => {
  const nameOf = (name: unknown) => dashboardOperations.createApiKey.body.safeParse({ name });

  test.each(['ci', ' ci ', '<script>alert(1)</script>', '🔑'.repeat(100)])('may be %j', (name) => {
    expect(nameOf(name).data).toEqual({ name: name.trim() });
  });

  test.each(['', '   ', 'a'.repeat(101), 'a\nb', 'a\0b', null, 7])('may not be %j', (name) => {
    expect(nameOf(name).error?.issues[0]?.message).toMatch(/^name must be 1 to 100 characters/);
  });
});

describe('a new password', () => {
  const check = (password: unknown) =>
    dashboardOperations.setPassword.body.safeParse({ new_password: password }).success;

  test('has 12 to 256 characters', () => {
    expect([11, 12, 256, 257].map((count) => check('p'.repeat(count)))).toEqual([false, true, true, false]);
    expect([11, 12, 256, 257].map((count) => check('🔑'.repeat(count)))).toEqual([false, true, true, false]);
  });
});
