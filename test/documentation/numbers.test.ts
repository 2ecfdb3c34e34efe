import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defaultLimits, fixedLimits, formatBytes, openApiDocument, operatorLimitKeys } from '@mayfly/contract';
import { dashboardLimits } from '@mayfly/contract/dashboard';
import { describe, expect, it } from 'vitest';
import { largestBytes as ballastBytes } from '#server/app/ballast.ts';
import { limitSetting, readConfig } from '#server/app/config.ts';
import {
  evictionPeriodMs,
  expiryPeriodMs,
  reconcilePeriodMs,
  retentionPeriodMs,
  snapshotPeriodMs,
} from '#server/app/service.ts';
import { minimumRuntimeMs } from '#server/core/admission/admit.ts';
import { refuseDiskFactor } from '#server/core/admission/capacity.ts';
import { maxDelayMs as auditDelayMs } from '#server/core/audit/audit-trail.ts';
import { defaultBudgets } from '#server/core/budgets/budgets.ts';
import { roomWaitMs as bodyWaitMs } from '#server/core/budgets/held-body.ts';
import { roomWaitMs as resultWaitMs, uncountedBytes } from '#server/core/budgets/held-result.ts';
import { evictDiskFactor, leastBytes, machinesMemoryMarginBytes } from '#server/core/eviction/choose-victim.ts';
import { resultGraceMs } from '#server/core/executions/collect.ts';
import { retryPauses as teardownPauses } from '#server/core/machines/teardowns.ts';
import { machineDeadlines } from '#server/core/ports/machine-deadlines.ts';
import { maxOpenPerSandbox, serverStartMs } from '#server/core/previews/visits.ts';
import { hashedAtOnce, maxWaiting as maxWaitingPasswords } from '#server/core/sign-in/passwords.ts';
import { recheckPeriodMs } from '#server/core/sign-in/session-connections.ts';
import { touchAfterMs } from '#server/core/sign-in/session-life.ts';
import { publicRequestsFactor } from '#server/core/windows/rate-windows.ts';
import { defaultGatewayLimits } from '#server/gateway/gateway-context.ts';
import { guestLimits } from '#server/guest/guest-limits.ts';
import { defaultHostLimits } from '#server/host-process/host-limits.ts';
import { defaultConnectionLimits, handshakesPerTurn, maxConnections } from '#server/http/app.ts';
import { defaultBodyPace } from '#server/http/bodies/slow-body.ts';
import { defaultReadingLimits } from '#server/http/slow-readers.ts';
import { linesPerSecond as strangerLinesPerSecond } from '#server/listening/stranger-log.ts';
import { protocolVersion } from '#server/machines/protocol/messages.ts';
import { hostUidRange } from '#server/machines/qemu/jail/uid-leases.ts';
import { resolverUsers } from '#server/machines/qemu/network/resolver/resolver-users.ts';
import { defaultSilenceMs } from '#server/machines/remote/host-connection.ts';
import { defaultPoolDeadlines } from '#server/store/postgres/open.ts';
import { pauses as restartPauses } from '#server/supervisor/restart-policy.ts';
import { documentationPages, readPage, repositoryRoot } from '../support/markdown.ts';
import { machineDeathNoticedMs } from '../support/promises.ts';

const { commands, resultBytes, bodyBytes, uploads } = defaultBudgets;
const { service: serviceDeadlines } = machineDeadlines;
const config = readConfig({});

const seconds = (ms: number): string => `${ms / 1_000} s`;
const minutes = (ms: number): string => `${ms / 60_000} minutes`;
const thousands = (count: number): string => count.toLocaleString('en-US');
const usd = (microUsd: number): string => (microUsd / 1_000_000).toFixed(2);
const words = ['zero', 'one', 'two', 'three', 'four', 'five'] as const;
/** A small number as text has it. */
const word = (count: number): string => words[count] ?? String(count);
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What pages say, with the numbers of the code. */
const sentences: Readonly<Record<string, readonly string[]>> = {
  'docs/dashboard.md': [
    `(${dashboardLimits.minPasswordCharacters} to ${dashboardLimits.maxPasswordCharacters} characters)`,
    `works once, within ${dashboardLimits.loginLinkHours} hours;`,
    `works once, within ${dashboardLimits.inviteLinkDays} days`,
    `without the current one, for ${dashboardLimits.setPasswordMinutes} minutes`,
    `are cut within ${recheckPeriodMs / 1_000} seconds`,
    `ends after ${dashboardLimits.sessionIdleDays} days without use, after ${dashboardLimits.sessionMaxDays} days in any case`,
    `at most ${dashboardLimits.sessionsPerAccount} sessions`,
    `After ${dashboardLimits.failuresPerEmail} failed attempts with one e-mail address, or ${dashboardLimits.failuresPerSource} from one source address (IPv6: one /64), within ${dashboardLimits.attemptWindowMinutes} minutes`,
    `(up to ${minutes(touchAfterMs)} behind)`,
  ],
  'docs/limits.md': [
    `| ${dashboardLimits.failuresPerSource} per ${dashboardLimits.attemptWindowMinutes} minutes, and ${dashboardLimits.failuresPerEmail} with one e-mail address from anywhere |`,
    `may send ${dashboardLimits.requestsPerMinute} requests per minute over all of its sessions`,
    `accepts no byte of a response for ${seconds(defaultReadingLimits.stallMs)}, or less than ${formatBytes(defaultReadingLimits.minBytesPerSecond)}/s over ${word(defaultReadingLimits.averageMs / 60_000)} minutes, is cut`,
    `408 if no byte arrives for ${seconds(defaultBodyPace.stallMs)} or if, after the first minute, less than ${defaultBodyPace.minBytesPerSecond} bytes per second arrive over ${seconds(defaultBodyPace.windowMs)}`,
    `Bodies over ${formatBytes(uncountedBytes)} share memory: ${formatBytes(bodyBytes.perAccount)} per account and ${formatBytes(bodyBytes.total)} in all`,
    `A body waits up to ${word(bodyWaitMs / 60_000)} minutes`,
    `an account has at most ${uploads.perAccount} of them open`,
    `| running commands | ${commands.perAccount} | ${thousands(commands.total)} |`,
    `if ${thousands(commands.waitingPerAccount)} wait already`,
    `bytes of results above ${formatBytes(uncountedBytes)}`,
    `| ${formatBytes(resultBytes.perAccount)} | ${formatBytes(resultBytes.total)} |`,
    `after ${word(resultWaitMs / 60_000)} minutes a read answers 429`,
    `otherwise ${thousands(defaultHostLimits.maxMachines)} |`,
    `| calls in progress | ${defaultHostLimits.callsInFlight} |`,
    `| ${thousands(defaultHostLimits.callsPerSecond)}; ${defaultHostLimits.changesPerSecond} | wait |`,
    `| a launch; any other call | ${seconds(defaultHostLimits.launchMs)}; ${seconds(defaultHostLimits.callMs)} |`,
    `disk below ${refuseDiskFactor} × the reserve`,
    `disk below ${evictDiskFactor} × the reserve`,
    `less than ${formatBytes(machinesMemoryMarginBytes)} left of \`MAYFLY_MACHINES_MEMORY_MB\``,
    `a file of ${formatBytes(ballastBytes)} in the data folder`,
    `A sandbox that holds less than ${formatBytes(leastBytes.memory)} is never evicted`,
    `enough credit for ${word(minimumRuntimeMs / 60_000)} minutes of \`small\``,
    `| unused tickets | ${fixedLimits.ticketsPerAccount}, for a minute each |`,
    `| open connections | ${thousands(defaultConnectionLimits.connectionsPerSource)} | ${thousands(defaultGatewayLimits.connectionsPerSource)} |`,
    `| ${thousands(defaultConnectionLimits.newConnectionsBurst)}, then ${defaultConnectionLimits.newConnectionsPerSecond} | ${defaultGatewayLimits.newConnectionsBurst}, then ${defaultGatewayLimits.newConnectionsPerSecond} |`,
    `| connections of all addresses | ${thousands(maxConnections)} | ${thousands(defaultGatewayLimits.connections)} |`,
    `| ${publicRequestsFactor} × \`MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE\` |`,
    `| passwords that are verified at the same time | ${hashedAtOnce}, while ${maxWaitingPasswords} wait, over all addresses |`,
    `${capitalized(word(handshakesPerTurn))} TLS handshakes continue per turn`,
    `| ${defaultGatewayLimits.refusedRequestsPerMinute} per minute | 429 \`rate_limited\``,
    `refused and unauthenticated requests | ${strangerLinesPerSecond} per event and second | ${strangerLinesPerSecond} per event and second |`,
  ],
  'docs/live-commands.md': [
    `works once, within ${fixedLimits.ticketSeconds} seconds`,
    `at most ${fixedLimits.ticketsPerAccount} unused tickets`,
  ],
  'docs/failure-contract.md': [
    `${seconds(serviceDeadlines.launchMs)} to restore, ${seconds(serviceDeadlines.attachMs)} to attach, ${seconds(serviceDeadlines.teardownMs)} to clean up`,
    `Billing stops with the response either way | ${seconds(serviceDeadlines.teardownMs)} |`,
    `| ${minutes(serviceDeadlines.saveMs)} to save |`,
    `${seconds(defaultBodyPace.stallMs)} without a byte; after a minute, ${defaultBodyPace.minBytesPerSecond} bytes per second over any ${seconds(defaultBodyPace.windowMs)}`,
    `after ${seconds(teardownPauses.firstMs)}, ${seconds(2 * teardownPauses.firstMs)}, ${seconds(4 * teardownPauses.firstMs)}, … ${seconds(teardownPauses.longestMs)}`,
    `nothing past the expiry is billed | ${seconds(expiryPeriodMs)} plus its teardown`,
    `requests that wait for it answer 502, billing stops | ${seconds(machineDeathNoticedMs)} (observed`,
    `A preview of a machine that died says so, and its open connections are cut | ${seconds(machineDeathNoticedMs)} |`,
    `${seconds(restartPauses.firstMs)}, growing to ${seconds(restartPauses.longestMs)}`,
    `creates answer 503 instead of waiting for it | ${seconds(defaultSilenceMs)} |`,
    `${seconds(evictionPeriodMs)} between measurements`,
    `the command's timeout plus ${seconds(resultGraceMs)}`,
    `finds its account's ${commands.perAccount} commands running`,
    // A stalled connection is found by the next look at all connections, of which there are six in that time.
    `Others are served meanwhile | ${seconds(defaultReadingLimits.stallMs + defaultReadingLimits.stallMs / 6)} |`,
    `ends \`completed\` with its output | ${seconds(reconcilePeriodMs)} after it is back`,
    `the service's last heartbeat (every ${seconds(reconcilePeriodMs)})`,
    `Files that could not be deleted are deleted later | ${seconds(snapshotPeriodMs)} after the host process is back`,
    `${seconds(defaultPoolDeadlines.connectMs)} for a connection, ${seconds(defaultPoolDeadlines.answerMs)} for a query`,
    `loses the last calls only | ${auditDelayMs} ms |`,
    `older than the retention (${config.retentionDays} days) are removed in the background, without delaying requests | ${retentionPeriodMs === 3_600_000 ? 'an hour' : seconds(retentionPeriodMs)} |`,
  ],
  'docs/agent-protocol.md': [
    `of up to ${thousands(guestLimits.http2FrameBytes)} bytes and without padding`,
    `in one frame of up to ${thousands(guestLimits.headersFrameBytes)} bytes, and at most ${guestLimits.unexpectedFrames} interim`,
    `At most ${guestLimits.unexpectedFrames} \`SETTINGS\` and \`PING\``,
    `${guestLimits.frameCredit}, and one more for every ${guestLimits.sentBytesPerFrame} bytes that the host has sent, of which at most ${thousands(guestLimits.mostFrameCredit)}`,
    `Headers count as one more for every ${guestLimits.headersBytesPerFrame} bytes`,
    `handles ${guestLimits.framesPerTurn} frames of a connection in one turn`,
  ],
  'docs/host-protocol.md': [
    `Version ${protocolVersion}.`,
    `"version":${protocolVersion},`,
    `| ${defaultHostLimits.callsInFlight}; ${thousands(defaultHostLimits.callsPerSecond)}; ${defaultHostLimits.changesPerSecond}, over all connections |`,
    `| saves in progress; saves that wait | ${defaultHostLimits.savesInFlight}; ${defaultHostLimits.waitingSaves} |`,
    `then nothing more is read; ${formatBytes(defaultHostLimits.unreadBytes)} |`,
    `| a service that reads nothing | ${seconds(defaultHostLimits.stallMs)} |`,
    `| a launch; a save; another call | ${seconds(defaultHostLimits.launchMs)}; ${defaultHostLimits.saveMs / 60_000} min; ${seconds(defaultHostLimits.callMs)} |`,
    `it is tried again after ${seconds(defaultHostLimits.cleanupPeriodMs)}`,
    `whatever it sends itself | ${seconds(defaultSilenceMs)} |`,
  ],
  'docs/previews.md': [
    `${maxOpenPerSandbox} requests and WebSockets per sandbox, ${defaultGatewayLimits.connectionsPerName} connections per preview`,
    `${thousands(defaultGatewayLimits.connectionsPerSource)} per source address (${defaultGatewayLimits.newConnectionsBurst} new ones at once, then ${defaultGatewayLimits.newConnectionsPerSecond} per second)`,
    `${defaultGatewayLimits.streamsPerConnection} requests at once over one HTTP/2 connection, ${formatBytes(defaultGatewayLimits.headerBytes)} of headers each way`,
    `${minutes(defaultGatewayLimits.idleMs)} without a byte, ${word(defaultGatewayLimits.keepAliveMs / 60_000)} minute for a connection without requests`,
  ],
  'docs/setup.md': [
    `user and group ids ${hostUidRange.firstUid} to ${resolverUsers.firstUid + resolverUsers.slots - 1} for machines`,
  ],
  'docs/snapshots.md': [`could not be saved within ${minutes(serviceDeadlines.saveMs)}`],
  'docs/settings.md': [
    `| \`MAYFLY_POOL\` | \`${Object.entries(config.pool)
      .map(([size, count]) => `${size}=${count}`)
      .join()}\` |`,
    `| \`MAYFLY_PRICE_SMALL\`, \`MAYFLY_PRICE_MEDIUM\`, \`MAYFLY_PRICE_LARGE\` | \`${usd(config.prices.small)}\`, \`${usd(config.prices.medium)}\`, \`${usd(config.prices.large)}\` |`,
    `| \`MAYFLY_BOOTSTRAP_CREDIT_USD\` | \`${config.bootstrapCreditMicroUsd / 1_000_000}\` |`,
    `| \`MAYFLY_PRICE_SNAPSHOT_GB_MONTH\` | \`${config.snapshotPriceMicroUsdPerGbMonth}\` |`,
    `| \`MAYFLY_RETENTION_DAYS\` | \`${config.retentionDays}\` |`,
    `| \`MAYFLY_PORT\` | \`${config.port}\` |`,
    `| \`MAYFLY_PREVIEW_PORT\` | \`${config.previewPort}\` |`,
    `| \`MAYFLY_MEMORY_OVERCOMMIT\` | \`${config.headroom.memoryOvercommit}\` |`,
    `| \`MAYFLY_MEMORY_RESERVE_MB\` | \`${config.headroom.memoryReserveBytes / 1024 ** 2}\` |`,
    `| \`MAYFLY_DISK_OVERCOMMIT\` | \`${config.headroom.diskOvercommit}\` |`,
    `| \`MAYFLY_DISK_RESERVE_MB\` | \`${config.headroom.diskReserveBytes / 1024 ** 2}\` |`,
    `| \`MAYFLY_DISK_MB_PER_SECOND\` | \`${config.diskRates.bytesPerSecond / 1024 ** 2}\` |`,
    `| \`MAYFLY_DISK_OPERATIONS_PER_SECOND\` | \`${config.diskRates.operationsPerSecond}\` |`,
  ],
  'docs/decisions/slow-readers-and-floods.md': [
    `accepts no byte for ${seconds(defaultReadingLimits.stallMs)} is cut`,
    `less than ${formatBytes(defaultReadingLimits.minBytesPerSecond)}/s over ${word(defaultReadingLimits.averageMs / 60_000)} minutes`,
    `looked at every ${seconds(defaultReadingLimits.stallMs / 6)}`,
    `${formatBytes(resultBytes.perAccount)} per account, ${formatBytes(resultBytes.total)} in total`,
    `${commands.perAccount} commands of an account run at once`,
  ],
  'docs/decisions/slow-bodies.md': [
    `every request with a body every ${seconds(defaultBodyPace.checkMs)}`,
    `| no byte arrives for | ${seconds(defaultBodyPace.stallMs)} |`,
    `after the first ${seconds(defaultBodyPace.graceMs)}, less arrives in ${seconds(defaultBodyPace.windowMs)} than | ${defaultBodyPace.minBytesPerSecond} bytes per second |`,
    `Bodies over ${formatBytes(uncountedBytes)} share memory`,
    `${formatBytes(bodyBytes.perAccount)} per account, ${formatBytes(bodyBytes.total)} in all`,
  ],
  'ARCHITECTURE.md': [
    `it retries for ${word(serverStartMs / 1_000)} seconds`,
    `stay open for ${word(defaultGatewayLimits.idleTunnelMs / 1_000)} seconds`,
  ],
  'README.md': [`up to ${formatBytes(defaultLimits.fileBytes)} each`],
};

/** The text of a page with its lines joined. */
const textOf = (path: string): string => readPage(path).text.replaceAll(/\s+/g, ' ');

describe.each(Object.entries(sentences))('%s', (path, expected) => {
  it('has the numbers of the code', () => {
    const text = textOf(path);
    expect(expected.filter((sentence) => !text.includes(sentence))).toEqual([]);
  });
});

it('all say the same of how long a create takes where machines are emulated', () => {
  const texts = [
    textOf('README.md'),
    JSON.stringify(openApiDocument({ publicUrl: '', previewUrl: '', limits: defaultLimits })),
    spawnSync(process.execPath, [join(repositoryRoot, 'packages/cli/bin/mayfly.mjs'), 'template', '--help'], {
      encoding: 'utf8',
    }).stdout,
  ];
  for (const text of texts) expect(text.replaceAll(/\s+/g, ' ')).toContain('about a second');
  const pages = documentationPages().filter(({ text }) => text.includes('fraction of a second'));
  // There it is the time until a copy has random numbers of its own.
  expect(pages.map(({ path }) => path)).toEqual(['docs/snapshots.md']);
});

it('docs/previews.md says who learns the host name of a preview', () => {
  const text = textOf('docs/previews.md');
  for (const word of ["the visitor's DNS servers", '(SNI)', '`Referrer-Policy`']) expect(text).toContain(word);
});

it('docs/limits.md has the default of every limit', () => {
  const rows = [...readPage('docs/limits.md').text.matchAll(/^\| (`MAYFLY_LIMIT_.*?) \| (.*?) \|$/gm)];
  const printed = rows.flatMap(([, names = '', values = '']) => {
    const numbers = values.match(/\d+/g) ?? [];
    return [...names.matchAll(/`(\w+)`/g)].map(([, name = ''], index) => [name, Number(numbers[index])] as const);
  });
  const defaults = operatorLimitKeys.map((key) => [limitSetting(key), defaultLimits[key]] as const);
  expect(Object.fromEntries(printed)).toEqual(Object.fromEntries(defaults));
});
