// Runs a command with exactly the capabilities of the process that drives machines, for example a suite:
//   node scripts/with-host-capabilities.ts npx vitest run test/machines test/adoption
import { spawnSync } from 'node:child_process';
import { withHostCapabilities } from '#server/machines/qemu/host-capabilities.ts';

const [program, ...argv] = withHostCapabilities(process.argv.slice(2));
const { status, signal } = spawnSync(program, argv, { stdio: 'inherit' });
if (signal) console.error(`ended by ${signal}`);
process.exitCode = status ?? 1;
