import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import {
  accountLimitNames,
  defaultLimits,
  fixedLimits,
  formatBytes,
  openApiDocument,
  operatorLimitKeys,
  sizes,
} from '@mayfly/contract';
import { dashboardLimits } from '@mayfly/contract/dashboard';
import { describe, expect, it } from 'vitest';
import { backgroundCommandsPerAccount } from '#server/app/assemble-core.ts';
import { largestBytes as ballastBytes } from '#server/app/ballast.ts';
import { limitSetting, readConfig } from '#server/app/config.ts';
import { destructionPace } from '#server/app/run-service.ts';
import {
  drainMs,
  evictionPeriodMs,
  expiryPeriodMs,
  reconcilePeriodMs,
  retentionPeriodMs,
  snapshotPeriodMs,
} from '#server/app/service.ts';
import { serviceLimits } from '#server/confinement/process-cgroup.ts';
import { maxOpenFiles, oomScores } from '#server/confinement/spec.ts';
import { defaultPeriodMs as tlsCopyPeriodMs } from '#server/confinement/tls-copy.ts';
import { minimumRuntimeMs } from '#server/core/admission/admit.ts';
import { refuseDiskFactor } from '#server/core/admission/capacity.ts';
import { maxDelayMs as auditDelayMs } from '#server/core/audit/audit-trail.ts';
import { defaultBudgets } from '#server/core/budgets/budgets.ts';
import { roomWaitMs as bodyWaitMs } from '#server/core/budgets/held-body.ts';
import { roomWaitMs as resultWaitMs, uncountedBytes } from '#server/core/budgets/held-result.ts';
import type { ApiError } from '#server/core/errors/api-error.ts';
import { evictDiskFactor, leastBytes, machinesMemoryMarginBytes } from '#server/core/eviction/choose-victim.ts';
import { resultGraceMs } from '#server/core/executions/collect.ts';
import { type FileTask, fileFailure } from '#server/core/files/file-errors.ts';
import { retryPauses as teardownPauses } from '#server/core/machines/teardowns.ts';
import { GuestRefusal } from '#server/core/ports/guest-agent.ts';
import { machineDeadlines } from '#server/core/ports/machine-deadlines.ts';
import { maxOpenPerSandbox, serverStartMs } from '#server/core/previews/visits.ts';
import { hashedAtOnce, maxWaiting as maxWaitingPasswords } from '#server/core/sign-in/passwords.ts';
import { recheckPeriodMs } from '#server/core/sign-in/session-connections.ts';
import { touchAfterMs } from '#server/core/sign-in/session-life.ts';
import { defaultSize as terminalSize } from '#server/core/terminals/terminals.ts';
import { publicRequestsFactor, sourceKey } from '#server/core/windows/rate-windows.ts';
import { defaultGatewayLimits } from '#server/gateway/gateway-context.ts';
import { guestLimits } from '#server/guest/guest-limits.ts';
import { defaultHostLimits } from '#server/host-process/host-limits.ts';
import { defaultConnectionLimits, handshakesPerTurn, maxConnections } from '#server/http/app.ts';
import { smallBytes as strangerBodyBytes } from '#server/http/bodies/json-body.ts';
import { defaultBodyPace } from '#server/http/bodies/slow-body.ts';
import { defaultReadingLimits } from '#server/http/slow-readers.ts';
import {
  behindBytes as terminalBehindBytes,
  pingMs as terminalPingMs,
  silenceMs as terminalSilenceMs,
} from '#server/http/sockets/terminal-socket.ts';
import { linesPerSecond as strangerLinesPerSecond } from '#server/listening/stranger-log.ts';
import { maxCallBytes, maxEgressEntries, protocolVersion } from '#server/machines/protocol/messages.ts';
import { hostCapabilities } from '#server/machines/qemu/host-capabilities.ts';
import { machineLimits } from '#server/machines/qemu/jail/cgroup-limits.ts';
import { hostUidRange } from '#server/machines/qemu/jail/uid-leases.ts';
import { defaultCheckMs as logTrimPeriodMs, maxLogBytes } from '#server/machines/qemu/log-trimmer.ts';
import { repairEveryMs } from '#server/machines/qemu/network/host/host-network.ts';
import { defaultLookupsPerSecond } from '#server/machines/qemu/network/machine-networks.ts';
import { refusedTcpPorts } from '#server/machines/qemu/network/plan/refused-ranges.ts';
import { restartPauses as resolverPauses } from '#server/machines/qemu/network/resolver/resolver.ts';
import { resolverUsers } from '#server/machines/qemu/network/resolver/resolver-users.ts';
import {
  idleForSeconds,
  incompleteForSeconds,
  mostConnections as mostHostConnections,
} from '#server/machines/qemu/network/rules/host-ruleset.ts';
import { defaultNetworkLimits, maxResolvedAddresses } from '#server/machines/qemu/network/rules/machine-ruleset.ts';
import { maxLayerBytes } from '#server/machines/qemu/restore.ts';
import { defaultSilenceMs } from '#server/machines/remote/host-connection.ts';
import {
  defaultRetryPauses as hostRetryPauses,
  defaultOpenMs as hostWaitMs,
} from '#server/machines/remote/remote-driver.ts';
import { periodMs as eventLoopPeriodMs } from '#server/metrics/event-loop-delay.ts';
import { databaseMs as scrapeDeadlineMs } from '#server/metrics/gauges.ts';
import { logLimits } from '#server/process/log-rate.ts';
import { maxShownBytes as screenBytes, scrollbackLines } from '#server/screens/emulator.ts';
import { tailBytes } from '#server/screens/worker-screens.ts';
import { defaultPoolDeadlines } from '#server/store/postgres/open.ts';
import { oldGuestDays } from '#server/supervisor/guest-age.ts';
import { pauses as restartPauses, stableMs } from '#server/supervisor/restart-policy.ts';
import { stopMs } from '#server/supervisor/supervised-process.ts';
import { leastForbiddenAttempts } from '#server-test/confinement/probe.ts';
import { messageCounts } from '#server-test/host-process/hostile-messages.ts';
import { machineDeathNoticedMs } from '#server-test/promises.ts';
import { hostUnitName, serviceUnitName, unitFiles } from '#setup/systemd/units.ts';
import { firstOutputMs, nextOutputMs, wholeOutputMs } from '../../packages/cli/src/logs/logs-command.ts';
import { progressDelayMs } from '../../packages/cli/src/progress-line.ts';
import { noticeMs } from '../../packages/cli/src/running/connection-notice.ts';
import { ownFailure } from '../../packages/cli/src/running/exit-code.ts';
import { pieceBytes as stdinPieceBytes } from '../../packages/cli/src/running/stdin.ts';
import { leastPrefix } from '../../packages/cli/src/service/find-sandbox.ts';
import { holdMs } from '../../packages/cli/src/shell/detach-keys.ts';
import { retryPausesMs as shellPausesMs } from '../../packages/cli/src/shell/terminal-session.ts';
import { defaultUsageDays } from '../../packages/contract/src/operations/account.ts';
import { defaults as sdkDefaults } from '../../packages/sdk/src/settings.ts';
import { defaultTimes as socketTimes } from '../../packages/sdk/src/terminals/web-socket.ts';
import { documentationPages, readPage, repositoryRoot } from '../support/markdown.ts';

const { commands, resultBytes, bodyBytes, uploads } = defaultBudgets;
const { service: serviceDeadlines } = machineDeadlines;
const config = readConfig({});
/** On the smallest host. */
const leastServiceLimits = serviceLimits(0, 1);
/** Of a machine whose guest has no memory. */
const machineOverhead = machineLimits(1, 0);

/** The agent, the resolver and the jail are written in Go. */
const agent = {
  expiryGraceMs: goConstant('guest/agent/internal/expiry/expiry.go', 'grace'),
  expiryCheckMs: goConstant('guest/agent/internal/expiry/expiry.go', 'interval'),
  inputWaitMs: goConstant('guest/agent/internal/execution/input.go', 'inputWait'),
  terminalHistoryBytes: goConstant('guest/agent/internal/terminal/history.go', 'historyLen'),
  terminalIdleMs: goConstant('guest/agent/internal/terminal/http.go', 'maxIdle'),
};
const resolver = {
  fairShares: goConstant('native/net/internal/machine/rate.go', 'fairShares'),
  openForMs: goConstant('native/net/internal/machine/machine.go', 'MaxOpenFor'),
  memoryBytes: goConstant('native/net/internal/resolver/limits.go', 'maxMemoryBytes'),
  threads: goConstant('native/net/internal/resolver/limits.go', 'maxThreads'),
};
const machineOomScore = goConstant('native/jail/limits.go', 'oomScoreAdj');

/** The units of systemd. */
const units = unitFiles({
  checkout: '',
  nodePath: '',
  dataDir: '',
  cacheDir: '',
  stateDir: '',
  environmentFile: '',
  programFolders: [],
  hostCapabilities: [],
  serviceMemoryBytes: 0,
  ports: [],
});
const directive = (unit: string, name: string): string | undefined =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(units.get(unit) ?? '')?.[1];

const seconds = (ms: number): string => `${ms / 1_000} s`;
const minutes = (ms: number): string => `${ms / 60_000} minutes`;
const thousands = (count: number): string => count.toLocaleString('en-US');
const usd = (microUsd: number): string => (microUsd / 1_000_000).toFixed(2);
const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'] as const;
/** A small number as text has it. */
const word = (count: number): string => words[count] ?? String(count);
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const timeUnits = [
  ['a day', 'days', 86_400_000],
  ['an hour', 'hours', 3_600_000],
  ['a minute', 'minutes', 60_000],
  ['a second', 'seconds', 1_000],
] as const;
/** A time as text has it: "a minute", "two hours". */
function inWords(ms: number): string {
  const [one, many, unitMs] = timeUnits.find(([, , unit]) => ms >= unit) ?? ['a millisecond', 'milliseconds', 1];
  return ms === unitMs ? one : `${word(ms / unitMs)} ${many}`;
}

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
    `408 if no byte arrives for ${seconds(defaultBodyPace.stallMs)} or if, after the first minute, less than ${defaultBodyPace.minBytesPerSecond} bytes per second arrive over ${seconds(defaultBodyPace.windowMs)}, or less than it takes to be complete in ${inWords(defaultBodyPace.longestMs)}`,
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
    `| background commands | ${backgroundCommandsPerAccount}; ${fixedLimits.backgroundCommandsPerSandbox} per sandbox |`,
    `| open streams (output, stats) | ${fixedLimits.streamsPerAccount}; ${fixedLimits.streamsPerSandbox} per sandbox |`,
    `| terminals | ${fixedLimits.terminalsPerSandbox} per sandbox, ${fixedLimits.terminalsPerAccount} per account |`,
    `| unused tickets | ${fixedLimits.ticketsPerAccount}, for ${inWords(fixedLimits.ticketSeconds * 1_000)} each |`,
    `half of the host's memory (at least ${formatBytes(leastServiceLimits.memoryBytes)}), ${leastServiceLimits.pids} threads and ${thousands(maxOpenFiles)} open files`,
    `entries of an egress list; bytes of a call | ${thousands(maxEgressEntries)}; ${formatBytes(maxCallBytes)} |`,
    `(${formatBytes((sizes.small.memoryGb * 1024 ** 3) / config.headroom.memoryOvercommit)} for \`small\`)`,
    `measures the host ${word(1_000 / evictionPeriodMs)} times a second`,
    `${capitalized(word(accountLimitNames.length))} of them can also be set for one account`,
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
    `${seconds(defaultBodyPace.stallMs)} without a byte; after a minute, ${defaultBodyPace.minBytesPerSecond} bytes per second over any ${seconds(defaultBodyPace.windowMs)}, or what completes the body in ${inWords(defaultBodyPace.longestMs)}`,
    `after ${seconds(teardownPauses.firstMs)}, ${seconds(2 * teardownPauses.firstMs)}, ${seconds(4 * teardownPauses.firstMs)}, … ${seconds(teardownPauses.longestMs)}`,
    `nothing past the expiry is billed | ${seconds(expiryPeriodMs)} plus its teardown`,
    `the next sweep, which starts every minute | ${seconds(expiryPeriodMs)} |`,
    `when no service comes back | ${minutes(agent.expiryGraceMs)} and ${seconds(agent.expiryCheckMs)} past its expiry |`,
    `requests that wait for it answer 502, billing stops | ${seconds(machineDeathNoticedMs)} (observed`,
    `A preview of a machine that died says so, and its open connections are cut | ${seconds(machineDeathNoticedMs)} |`,
    `lookups fail meanwhile, connections stay open | ${seconds(resolverPauses.firstMs)} to ${seconds(resolverPauses.longestMs)} |`,
    `${seconds(restartPauses.firstMs)}, growing to ${seconds(restartPauses.longestMs)} if it ends again within ${inWords(stableMs)}`,
    `the host process is found again within ${seconds(hostRetryPauses.longestMs)}`,
    `names what is left and exits with 1 | ${seconds(destructionPace.deadlineMs)} |`,
    `| pauses from ${seconds(restartPauses.firstMs)} to ${seconds(restartPauses.longestMs)} |`,
    `creates answer 503 instead of waiting for it | ${seconds(defaultSilenceMs)} |`,
    `${seconds(evictionPeriodMs)} between measurements`,
    `the command's timeout plus ${seconds(resultGraceMs)}`,
    `finds its account's ${commands.perAccount} commands running`,
    `accepted as a whole or not at all | ${seconds(agent.inputWaitMs)}, then 429 |`,
    // A stalled connection is found by the next look at all connections, of which there are six in that time.
    `Others are served meanwhile | ${seconds(defaultReadingLimits.stallMs + defaultReadingLimits.stallMs / 6)} |`,
    `ends \`completed\` with its output | ${seconds(reconcilePeriodMs)} after it is back`,
    `the service's last heartbeat (every ${seconds(reconcilePeriodMs)})`,
    `Files that could not be deleted are deleted later | ${seconds(snapshotPeriodMs)} after the host process is back`,
    `${seconds(defaultPoolDeadlines.connectMs)} for a connection, ${seconds(defaultPoolDeadlines.answerMs)} for a query`,
    `loses the last calls only | ${auditDelayMs} ms |`,
    `older than the retention (${config.retentionDays} days) are removed in the background, without delaying requests | ${inWords(retentionPeriodMs)} |`,
  ],
  'docs/terminals.md': [
    `the size, ${terminalSize.cols} by ${terminalSize.rows} for a new terminal, at most ${fixedLimits.terminalCols} by ${fixedLimits.terminalRows};`,
    `up to ${thousands(scrollbackLines(terminalSize.cols))} lines above it (${scrollbackLines(200)} if it is 200 columns wide)`,
    `from the last ${formatBytes(agent.terminalHistoryBytes)} of output`,
    `when over ${formatBytes(agent.terminalHistoryBytes)} was printed while nobody was connected`,
    `Once ${formatBytes(terminalBehindBytes)} waits for it`,
    `does not read for ${seconds(terminalSilenceMs)} it is disconnected`,
    `for a screen: ${formatBytes(screenBytes)} at most`,
    `A message has at most ${formatBytes(fixedLimits.terminalMessageBytes)}`,
    `**Limits**: ${fixedLimits.terminalsPerSandbox} terminals per sandbox and ${fixedLimits.terminalsPerAccount} per account`,
    `open streams (${fixedLimits.streamsPerSandbox} per sandbox, ${fixedLimits.streamsPerAccount} per account)`,
    `A terminal that had no client for ${inWords(agent.terminalIdleMs)} is hung up`,
    `are pinged every ${seconds(terminalPingMs)}`,
    `has not reacted for ${seconds(terminalSilenceMs)} is disconnected`,
    `are sent the last ${formatBytes(tailBytes)} of output instead of the screen`,
    `builds them from the last ${formatBytes(tailBytes)} of each`,
  ],
  'docs/metrics.md': [
    `with a deadline of ${seconds(scrapeDeadlineMs)}`,
    `near ${formatBytes(resultBytes.total)}: clients do not read their responses`,
    `near ${formatBytes(bodyBytes.total)} for minutes`,
    `their account runs ${commands.perAccount} already`,
    `how late a timer of ${eventLoopPeriodMs} ms fired`,
  ],
  'docs/security.md': [
    `root with ${Object.keys(hostCapabilities).length} capabilities`,
    `everything root can do with ${Object.keys(hostCapabilities).length} capabilities`,
    `memory (guest RAM + ${formatBytes(machineOverhead.memoryBytes)}), ${machineOverhead.pids} threads`,
    `no file beyond ${Math.round((100 * maxLayerBytes(1)) / 1024 ** 3)} % of the disk's size`,
    `mail ports (${refusedTcpPorts.join(', ')}:`,
    `share ${defaultLookupsPerSecond} lookups per second`,
    `stays within ${defaultLookupsPerSecond / resolver.fairShares} per second`,
    `Per machine: ${defaultNetworkLimits.bandwidthBitsPerSecond / 1_000_000} Mbit/s each way, ${thousands(defaultNetworkLimits.packetsPerSecond)} packets/s, ${thousands(defaultNetworkLimits.connections)} connections, ${defaultNetworkLimits.newConnectionsPerSecond} new connections per second`,
    `at most ${thousands(mostHostConnections)}, so that the ${defaultLimits.concurrentSandboxes} sandboxes of one account`,
    `is forgotten after ${Math.floor(idleForSeconds / 3_600)} h ${(idleForSeconds % 3_600) / 60} min `,
    `an unfinished handshake or close after ${inWords(incompleteForSeconds * 1_000)}`,
    `the time is at most ${inWords(resolver.openForMs)}`,
    `(up to ${thousands(maxResolvedAddresses)} each, for up to ${inWords(resolver.openForMs)})`,
    `use ${formatBytes(resolver.memoryBytes)} of memory, ${resolver.threads} threads`,
    `prefers machines (\`oom_score_adj\` ${machineOomScore}) and spares the service (${oomScores.service}) and the host process (${oomScores.host};`,
    `at most ${maxOpenPerSandbox} requests open, and for each the service buffers at most ${formatBytes(guestLimits.streamWindowBytes)}`,
    `share the gateway's ${thousands(defaultGatewayLimits.connections)} connections`,
    `a body of at most ${formatBytes(strangerBodyBytes)}`,
    `busy for ${guestLimits.turnMs} ms per turn of the event loop`,
    `handled ${guestLimits.framesPerTurn} frames at a time`,
    `in total only by ${thousands(maxConnections)} connections on each port`,
    `the rules are restored within ${seconds(repairEveryMs)}`,
    `Machine logs are trimmed once ${inWords(logTrimPeriodMs)}`,
    `a machine's log stays under ${formatBytes(maxLogBytes)}`,
    `faster than the service measures (${word(1_000 / evictionPeriodMs)} times a second)`,
    `The set-up warns after ${oldGuestDays} days`,
    `a ticket works once, for ${inWords(fixedLimits.ticketSeconds * 1_000)}`,
    `${thousands(messageCounts.short)} generated hostile messages of a service (${thousands(messageCounts.full)} in the long form;`,
    `only: ${thousands(messageCounts.short)} hostile messages, ${thousands(messageCounts.full)} in the long form`,
    `${thousands(messageCounts.short)} hostile messages (${thousands(messageCounts.fullOnMachines)} in the long form) to its host process`,
    `more than ${leastForbiddenAttempts} attempts of a compromised one are refused`,
  ],
  'docs/operating.md': [
    `listens on \`${config.host}:${config.port}\``,
    `A create may take ${inWords(serviceDeadlines.launchMs + serviceDeadlines.attachMs)} and a command up to ${word(defaultLimits.maxCommandTimeoutMs / 60_000)};`,
    `after ${seconds(restartPauses.firstMs)} at first and with growing pauses up to ${seconds(restartPauses.longestMs)}; one that ran for ${inWords(stableMs)} starts with ${seconds(restartPauses.firstMs)} again`,
    `It is started again in ${seconds(restartPauses.firstMs)}.`,
    `writes at most ${formatBytes(logLimits.bytesPerSecond)} per second (after a quiet time ${formatBytes(logLimits.burstBytes)} at once, ${formatBytes(logLimits.reservedBytes)} of them for warnings and errors only)`,
    `at most ${word(strangerLinesPerSecond)} times per event and second`,
    `every renewal, within ${seconds(tlsCopyPeriodMs)})`,
    `took longer than ${hostWaitMs} ms\``,
    `did not listen within ${inWords(hostWaitMs)}`,
    `restarted by systemd ${directive(hostUnitName, 'RestartSec')} s after they end`,
    `restarted by systemd ${directive(serviceUnitName, 'RestartSec')} s after they end`,
    `requests in flight may finish (${seconds(drainMs)})`,
    `after ${seconds(restartPauses.firstMs)} at first and every ${seconds(restartPauses.longestMs)} at most`,
    `does not stop within ${inWords(stopMs)} is killed`,
    `powers itself off ${inWords(agent.expiryGraceMs)} later`,
    `Once they are more than ${oldGuestDays} days old`,
  ],
  'docs/cli.md': [
    `a service on this machine, \`http://${config.host}:${config.port}\``,
    `by ${defaultLimits.defaultTimeoutMinutes} minutes unless given`,
    `(at least ${leastPrefix} characters, with or without \`sbx_\`)`,
    `once that takes longer than ${inWords(progressDelayMs)}`,
    `a script (at most ${formatBytes(defaultLimits.fileBytes)})`,
    `${ownFailure}: Mayfly failed`,
    `A command that succeeded ends with ${ownFailure} then`,
    `keeps the last ${formatBytes(fixedLimits.spoolBytes)}`,
    `Each request carries ${formatBytes(stdinPieceBytes)}`,
    `if that takes longer than ${inWords(noticeMs)}, stderr says so`,
    `If it fails for ${inWords(sdkDefaults.reconnectMs)}, the exit code is ${ownFailure}`,
    `the default lifetime (${defaultLimits.defaultTimeoutMinutes} minutes)`,
    `silent for ${seconds(nextOutputMs)} (${seconds(firstOutputMs)} if it has printed nothing yet), and at the latest after ${seconds(wholeOutputMs)} or ${formatBytes(fixedLimits.spoolBytes)}`,
    `or after ${seconds(holdMs)}.`,
    `for about ${Math.round(shellPausesMs.reduce((sum, ms) => sum + ms) / 1_000)} seconds`,
    `nothing arrives for ${socketTimes.silenceMs / 1_000} seconds`,
    `is sent in requests of ${formatBytes(stdinPieceBytes)}`,
    `in the last ${defaultUsageDays} days unless given`,
    `| ${ownFailure} | \`run\`, \`exec\` or \`shell\` itself failed |`,
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
  'docs/decisions/file-operations.md': [
    `such as a name over 255 bytes, is ${nameTooLong('write')} for a write, ${nameTooLong('read', 'list')} for a read or a listing, and ${nameTooLong('delete')} for a delete`,
  ],
  'docs/decisions/specification-gaps.md': [
    `**A price of zero.** A size whose price is zero needs no credit`,
    `the minimum of ${word(minimumRuntimeMs / 60_000)} minutes of \`small\``,
    `**NUL in \`name\`** is 400 \`invalid_request\``,
    `The window "per source IP" counts an IPv6 address as its /${sourceKey('2001:db8::1').split('/')[1]}, and`,
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

it('the units of systemd have the limits that docs/limits.md names', () => {
  expect(directive(serviceUnitName, 'TasksMax')).toBe(String(leastServiceLimits.pids));
  expect(directive(serviceUnitName, 'LimitNOFILE')).toBe(String(maxOpenFiles));
});

it('all say the same of how long a create takes where machines are emulated', () => {
  const texts = [
    textOf('README.md'),
    textOf('packages/sdk/README.md'),
    textOf('packages/dashboard/src/sign-in/sign-in-page.tsx'),
    textOf('packages/dashboard/src/sandboxes/first-sandbox.tsx'),
    textOf('packages/dashboard/src/sandbox/outcome.tsx'),
    JSON.stringify(openApiDocument({ publicUrl: '', previewUrl: '', limits: defaultLimits })),
    spawnSync(process.execPath, [join(repositoryRoot, 'packages/cli/bin/mayfly.mjs'), 'template', '--help'], {
      encoding: 'utf8',
    }).stdout,
  ];
  for (const text of texts.map((each) => each.replaceAll(/\s+/g, ' '))) {
    expect(text).toContain('about a second');
    expect(text).not.toMatch(/\bin a second/i);
  }
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

/** How these tasks answer a path with a name over 255 bytes, as text has it. */
function nameTooLong(...tasks: FileTask[]): string {
  const refusal = new GuestRefusal('name_too_long', 'File name too long');
  const answers = tasks.map((task) => {
    const { status, type } = fileFailure(refusal, { task, path: '/', fileBytes: defaultLimits.fileBytes }) as ApiError;
    return `${status} \`${type}\``;
  });
  return [...new Set(answers)].join(' or ');
}

/** The value of a constant in a Go file, in milliseconds if it is a time. */
function goConstant(path: string, name: string): number {
  const units: Readonly<Record<string, number>> = { Second: 1_000, Minute: 60_000, Hour: 3_600_000 };
  const declaration = new RegExp(`\\b${name}\\s+= "?(\\d+)(?: << (\\d+)| \\* time\\.(\\w+))?"?$`, 'm');
  const [, count, shift = '0', unit] = declaration.exec(readPage(path).text) ?? [];
  if (count === undefined) throw new Error(`${path} has no constant ${name}.`);
  return Number(count) * 2 ** Number(shift) * (unit === undefined ? 1 : (units[unit] ?? Number.NaN));
}
