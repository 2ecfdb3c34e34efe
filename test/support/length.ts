/** Whether suites run at full length: `npm run test:long` sets this. */
const isLong = process.env.MAYFLY_TEST_LONG === '1';

/** How often a suite repeats something, or for how long: the first in `npm test`, the second at full length. The assertions are the same. */
export function length<T>(short: T, long: T): T {
  return isLong ? long : short;
}
