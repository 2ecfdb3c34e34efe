import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { getDefaultHighWaterMark } from 'node:stream';
import {
  accountLimitNames,
  defaultLimits,
  errorTable,
  fixedLimits,
  formatBytes,
  maxForkCount,
  openApiDocument,
  operatorLimitKeys,
  sizes,
} from '@mayfly/contract';
import { dashboardLimits } from '@mayfly/contract/dashboard';
import { describe, expect, it } from 'vitest';
import { backgroundCommandsPerAccount, snapshotCheckMs } from '#server/app/assemble-core.ts';
import { largestBytes as ballastBytes } from '#server/app/ballast.ts';
import { limitSetting, readConfig } from '#server/app/config.ts';
import { destructionPace } from '#server/app/run-service.ts';
import {
  drainMs,
  evictionPeriodMs,
  expiryPeriodMs,
  poolTemplatesPeriodMs,
  reconcilePeriodMs,
  retentionPeriodMs,
  snapshotPeriodMs,
} from '#server/app/service.ts';
import { serviceLimits } from '#server/confinement/process-cgroup.ts';
import { maxOpenFiles, oomScores } from '#server/confinement/spec.ts';
import { defaultPeriodMs as tlsCopyPeriodMs } from '#server/confinement/tls-copy.ts';
import { maxCredentialParts } from '#server/core/accounts/authenticate.ts';
import { minimumRuntimeMs } from '#server/core/admission/admit.ts';
import { refuseDiskFactor } from '#server/core/admission/capacity.ts';
import { maxDelayMs as auditDelayMs, maxWaiting as maxWaitingEvents } from '#server/core/audit/audit-trail.ts';
import { defaultBudgets } from '#server/core/budgets/budgets.ts';
import { roomWaitMs as bodyWaitMs } from '#server/core/budgets/held-body.ts';
import { roomWaitMs as resultWaitMs, uncountedBytes } from '#server/core/budgets/held-result.ts';
import type { ApiError } from '#server/core/errors/api-error.ts';
import {
  evictDiskFactor,
  leastBytes,
  machinesMemoryMarginBytes,
  ordinaryServiceBytes,
} from '#server/core/eviction/choose-victim.ts';
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
import { maxLineBytes as controlLineBytes } from '#server/guest/attach/control-port.ts';
import { defaultDeadlines as guestDeadlines, guestLimits } from '#server/guest/guest-limits.ts';
import { violationLinesPerSecond } from '#server/host-process/driver-server.ts';
import { defaultHostLimits } from '#server/host-process/host-limits.ts';
import { defaultConnectionLimits, handshakePace, maxConnections } from '#server/http/app.ts';
import { keepAliveMs } from '#server/http/bodies/event-stream.ts';
import { smallBytes as strangerBodyBytes } from '#server/http/bodies/json-body.ts';
import { defaultBodyPace } from '#server/http/bodies/slow-body.ts';
import { defaultReadingLimits } from '#server/http/slow-readers.ts';
import {
  behindBytes as terminalBehindBytes,
  pingMs as terminalPingMs,
  silenceMs as terminalSilenceMs,
} from '#server/http/sockets/terminal-socket.ts';
import { linesPerSecond as strangerLinesPerSecond } from '#server/listening/stranger-log.ts';
import {
  machinesPerPage,
  maxCallBytes,
  maxEgressEntries,
  maxHostMessageBytes,
  memoryPeriodMs,
  protocolVersion,
  snapshotsPerPage,
} from '#server/machines/protocol/messages.ts';
import { translationBufferMib } from '#server/machines/qemu/argv.ts';
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
import { cannotStartCode } from '#server/process/start-failure.ts';
import { forcedStopCode, sameRequestMs } from '#server/process/stop-signals.ts';
import { maxShownBytes as screenBytes, scrollbackLines } from '#server/screens/emulator.ts';
import { tailBytes } from '#server/screens/worker-screens.ts';
import { defaultPoolDeadlines } from '#server/store/postgres/open.ts';
import { oldGuestDays } from '#server/supervisor/guest-age.ts';
import { pauses as restartPauses, stableMs } from '#server/supervisor/restart-policy.ts';
import { stopMs } from '#server/supervisor/supervised-process.ts';
import { leastForbiddenAttempts } from '#server-test/confinement/probe.ts';
import { messageCounts } from '#server-test/host-process/hostile-messages.ts';
import { machineDeathNoticedMs } from '#server-test/promises.ts';
import { waitDeadlineMs as cacheWaitMs } from '#setup/cache/entry.ts';
import { keepUnusedMs, markUsedEveryMs } from '#setup/cache/prune.ts';
import { minimumBuildDiskBytes, minimumBuildMemoryBytes, minimumDiskBytes } from '#setup/requirements/problems.ts';
import { hostUnitName, serviceUnitName, unitFiles } from '#setup/systemd/units.ts';
import { timeoutMs as adminTimeoutMs } from '../../packages/cli/src/admin/client.ts';
import { firstOutputMs, nextOutputMs, wholeOutputMs } from '../../packages/cli/src/logs/logs-command.ts';
import { progressDelayMs } from '../../packages/cli/src/progress-line.ts';
import { noticeMs } from '../../packages/cli/src/running/connection-notice.ts';
import { ownFailure } from '../../packages/cli/src/running/exit-code.ts';
import { pieceBytes as stdinPieceBytes } from '../../packages/cli/src/running/stdin.ts';
import { leastPrefix } from '../../packages/cli/src/service/find-sandbox.ts';
import { holdMs } from '../../packages/cli/src/shell/detach-keys.ts';
import { retryPausesMs as shellPausesMs } from '../../packages/cli/src/shell/terminal-session.ts';
import { defaultUsageDays } from '../../packages/contract/src/operations/account.ts';
import { cleanupMs as sdkCleanupMs } from '../../packages/sdk/src/http/cleanup.ts';
import { defaultTimes, slowTimes } from '../../packages/sdk/src/http/connection.ts';
import { longestTimerMs } from '../../packages/sdk/src/http/timer.ts';
import { defaults as sdkDefaults } from '../../packages/sdk/src/settings.ts';
import { maxUnreadBytes } from '../../packages/sdk/src/terminals/terminal.ts';
import { defaultTimes as socketTimes } from '../../packages/sdk/src/terminals/web-socket.ts';
import { documentationPages, readPage, repositoryRoot } from '../support/markdown.ts';

const { commands, resultBytes, bodyBytes, uploads } = defaultBudgets;
const { service: serviceDeadlines } = machineDeadlines;
const config = readConfig({});
/** A comparison of records and files is due after the first, starts up to the second later, and is given the third. */
const snapshotsComparedMs = snapshotCheckMs + snapshotPeriodMs + snapshotPeriodMs;
/** On the smallest host. */
const leastServiceLimits = serviceLimits(0, 1);
/** Of a machine whose guest has no memory. */
const machineOverhead = machineLimits(1, 0);

/** The agent, the resolver and the jail are written in Go. */
const agent = {
  argumentBytes: goConstant('guest/agent/internal/execution/stdio.go', 'maxArgument'),
  attachLineBytes: goConstant('guest/agent/internal/attach/scan.go', 'maxLine'),
  captureBytes: goConstant('guest/agent/internal/execution/request.go', 'defaultCapture'),
  commands: goConstant('guest/agent/internal/execution/table.go', 'maxRunning'),
  commandsKept: goConstant('guest/agent/internal/execution/table.go', 'maxKept'),
  commandsKeptBytes: goConstant('guest/agent/internal/execution/table.go', 'maxKeptBytes'),
  expiryGraceMs: goConstant('guest/agent/internal/expiry/expiry.go', 'grace'),
  expiryCheckMs: goConstant('guest/agent/internal/expiry/expiry.go', 'interval'),
  framePayloadBytes: goConstant('guest/agent/internal/frame/frame.go', 'MaxPayload'),
  hostAbsenceMs: goConstant('guest/agent/internal/attach/lease.go', 'hostAbsence'),
  inputBytes: goConstant('guest/agent/internal/execution/input.go', 'maxInput'),
  inputWaitMs: goConstant('guest/agent/internal/execution/input.go', 'inputWait'),
  messageBytes: goConstant('guest/agent/internal/fault/fault.go', 'maxMessage'),
  pollMs: goConstant('guest/agent/internal/port/port.go', 'minWait'),
  longestPollMs: goConstant('guest/agent/internal/port/port.go', 'maxWait'),
  protocol: goConstant('guest/agent/internal/routes/routes.go', 'protocol'),
  results: goConstant('guest/agent/internal/execution/table.go', 'maxFinished'),
  spoolBlockBytes: goConstant('guest/agent/internal/execution/spool.go', 'spoolBlockLen'),
  spoolBytes: goConstant('guest/agent/internal/execution/request.go', 'maxSpool'),
  terminalHistoryBytes: goConstant('guest/agent/internal/terminal/history.go', 'historyLen'),
  terminalIdleMs: goConstant('guest/agent/internal/terminal/http.go', 'maxIdle'),
  terminals: goConstant('guest/agent/internal/terminal/http.go', 'maxTerminals'),
  timeoutExitCode: goConstant('guest/agent/internal/execution/execution.go', 'timeoutExitCode'),
  userId: goConstant('guest/agent/internal/fsuser/fsuser.go', 'UID'),
};
const resolver = {
  fairShares: goConstant('native/net/internal/machine/rate.go', 'fairShares'),
  openForMs: goConstant('native/net/internal/machine/machine.go', 'MaxOpenFor'),
  memoryBytes: goConstant('native/net/internal/resolver/limits.go', 'maxMemoryBytes'),
  threads: goConstant('native/net/internal/resolver/limits.go', 'maxThreads'),
};
const jail = {
  machineOomScore: goConstant('native/jail/limits.go', 'oomScoreAdj'),
  stopMs: goConstant('native/jail/confine.go', 'stopTime'),
};

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
    `(what the service itself holds beyond its usual ${formatBytes(ordinaryServiceBytes)} counts as free)`,
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
    `${capitalized(word(handshakePace.perTurn))} TLS handshakes begin per turn`,
    `| ${defaultGatewayLimits.refusedRequestsPerMinute} per minute | 429 \`rate_limited\``,
    `refused and unauthenticated requests | ${strangerLinesPerSecond} per event and second | ${strangerLinesPerSecond} per event and second |`,
  ],
  'docs/admin.md': [
    `that works once, within ${dashboardLimits.inviteLinkDays} days`,
    `that works once, within ${dashboardLimits.loginLinkHours} hours`,
    `An account has at most ${defaultLimits.apiKeys} active keys (\`MAYFLY_LIMIT_API_KEYS\``,
    `loses at most the last ${auditDelayMs} ms`,
    `up to ${thousands(maxWaitingEvents)} events wait for it`,
    `does not answer within ${adminTimeoutMs / 1_000} seconds the command gives up`,
  ],
  'docs/live-commands.md': [
    `| timeout | ${seconds(defaultLimits.defaultCommandTimeoutMs)} unless given | ${seconds(defaultLimits.defaultCommandTimeoutMs)} unless given |`,
    `the last ${formatBytes(fixedLimits.spoolBytes)} per command`,
    `its latest ${agent.commandsKept} live commands, up to ${formatBytes(agent.commandsKeptBytes)}`,
    `up to ${formatBytes(defaultLimits.captureBytes)} of each stream`,
    `**Comments** every ${seconds(keepAliveMs)}`,
    `A client that does not read for ${seconds(defaultReadingLimits.stallMs)} is disconnected`,
    `While more than ${formatBytes(agent.inputBytes)} would wait, a call waits up to ${seconds(agent.inputWaitMs)} and then answers 429`,
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
    `completely | ${seconds(evictionPeriodMs)}: until the ballast is released |`,
    `as soon as the database can | ${seconds(evictionPeriodMs)} |`,
    `the command's timeout plus ${seconds(resultGraceMs)}`,
    `finds its account's ${commands.perAccount} commands running`,
    `the longest command timeout, then ${errorTable.rate_limit_exceeded.statuses[0]} and nothing ran`,
    `or whose machine is gone, ends \`failed\`; none stays \`running\` forever | at the start, otherwise ${seconds(reconcilePeriodMs)} |`,
    `accepted as a whole or not at all | ${seconds(agent.inputWaitMs)}, then 429 |`,
    // A stalled connection is found by the next look at all connections, of which there are six in that time.
    `Others are served meanwhile | ${seconds(defaultReadingLimits.stallMs + defaultReadingLimits.stallMs / 6)} |`,
    `ends \`completed\` with its output | ${seconds(reconcilePeriodMs)} after it is back`,
    `is billed no further than the service's last heartbeat | ${seconds(reconcilePeriodMs)} |`,
    `the service's last heartbeat (every ${seconds(reconcilePeriodMs)})`,
    `machines of ended sandboxes are destroyed | ${seconds(reconcilePeriodMs)} after it is back |`,
    `because the confirmation of a rollback was lost, is corrected | ${seconds(reconcilePeriodMs)} after the database is back |`,
    `\`failed\` within ${seconds(reconcilePeriodMs)} of the database being back`,
    `its files are deleted, and its key is free | ${seconds(snapshotsComparedMs)} after the next start`,
    `one whose files were lost is \`failed\` and costs nothing more | ${seconds(snapshotsComparedMs)} |`,
    `a copy that failed costs nothing | ${seconds(snapshotPeriodMs)} after the host process is back |`,
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
    `prefers machines (\`oom_score_adj\` ${jail.machineOomScore}) and spares the service (${oomScores.service}) and the host process (${oomScores.host};`,
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
    `and lines over ${agent.attachLineBytes} bytes, are ignored`,
    `repeats the control line of step 2 every ${guestDeadlines.attachRepeatMs} ms`,
    `within ${seconds(guestDeadlines.firstSyncMs)} (then ${seconds(2 * guestDeadlines.firstSyncMs)}, ${seconds(4 * guestDeadlines.firstSyncMs)} …)`,
    `survives for up to ${seconds(agent.hostAbsenceMs)} without a host`,
    `waits ${agent.pollMs} ms to ${agent.longestPollMs} ms between reads`,
    `reads at most ${formatBytes(guestLimits.controlBytes)} from the control port`,
    `ignores lines over ${controlLineBytes} bytes`,
    `The payload is at most ${thousands(agent.framePayloadBytes)} bytes. If an agent sends a longer one`,
    `The payload is at most ${thousands(guestLimits.framePayloadBytes)} bytes. If an agent sends a longer one`,
    `the message has at most ${thousands(agent.messageBytes)} bytes`,
    `{"protocol":${agent.protocol},`,
    `the raw body (up to ${formatBytes(agent.inputBytes)}) for stdin`,
    `If ${formatBytes(agent.inputBytes)} waits for the command, the request waits for ${seconds(agent.inputWaitMs)}, then 429`,
    `${agent.terminals} terminals: 429 \`too_many\``,
    `the file-system uid and gid ${agent.userId} and without`,
    `as uid and gid ${agent.userId} with an empty stdin`,
    `A command over ${thousands(agent.argumentBytes)} bytes is passed`,
    `${agent.commands} commands are running`,
    `(default ${formatBytes(agent.captureBytes)})`,
    `\`exit_code\` is ${agent.timeoutExitCode}.`,
    `Results are kept until DELETE, at most ${thousands(agent.results)} of them`,
    `\`spool_bytes\` (up to ${formatBytes(agent.spoolBytes)})`,
    `the newest ${formatBytes(agent.spoolBlockBytes)} in memory`,
    `the latest ${agent.commandsKept} of them, with up to ${formatBytes(agent.commandsKeptBytes)} on disk together`,
    `keeps its last ${formatBytes(agent.terminalHistoryBytes)} of output`,
    `the shell runs at most ${formatBytes(agent.terminalHistoryBytes)} ahead of it`,
    `that has had no stream for ${inWords(agent.terminalIdleMs)} is hung up`,
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
    `${word(1_000 / memoryPeriodMs)} times a second, which also shows`,
    `up to ${machinesPerPage} machines with their sizes`,
    `up to ${snapshotsPerPage} snapshots, in the order`,
    `| a line | ${formatBytes(maxCallBytes)} from the service (an egress list of ${thousands(maxEgressEntries)} names), ${formatBytes(maxHostMessageBytes)} from the host process |`,
    `with at most ${word(violationLinesPerSecond)} log line per second`,
    `| ${defaultHostLimits.connections}; ${defaultHostLimits.handshakesPerSecond}, ${defaultHostLimits.connections}; ${seconds(defaultHostLimits.handshakeMs)} | refused; delayed, refused; closed |`,
    `being launched and destroyed | ${thousands(defaultHostLimits.maxMachines)}, or`,
    `an attempt to clean up after a machine | ${seconds(defaultHostLimits.callMs)} |`,
    `| saves in progress; saves that wait | ${defaultHostLimits.savesInFlight}; ${defaultHostLimits.waitingSaves} |`,
    // As much as any socket takes before it is full.
    `| unread answers | ${formatBytes(getDefaultHighWaterMark(false))}, then nothing more is read; ${formatBytes(defaultHostLimits.unreadBytes)} |`,
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
    `more than ${maxCredentialParts.lookedUp} parts that may be keys, or ${maxCredentialParts.inAll} in all`,
  ],
  'docs/setup.md': [
    `user and group ids ${hostUidRange.firstUid} to ${resolverUsers.firstUid + resolverUsers.slots - 1} for machines`,
    `(${formatBytes(minimumBuildMemoryBytes)} of it free while the guest image is built)`,
    `${formatBytes(minimumBuildDiskBytes)} free for the cache until the image is built, ${formatBytes(minimumDiskBytes)} after`,
    `requests in flight may finish within ${drainMs / 1_000} seconds`,
    `A second signal, at least ${inWords(sameRequestMs)} after the first, exits at once with code ${forcedStopCode}`,
    `(at most ${minutes(cacheWaitMs)})`,
    `entries that were not used for ${keepUnusedMs / 86_400_000} days`,
    `marks its entries every ${markUsedEveryMs / 3_600_000} hours`,
  ],
  'docs/snapshots.md': [
    `could not be saved within ${minutes(serviceDeadlines.saveMs)}`,
    `The ${minutes(serviceDeadlines.saveMs)} include the wait`,
    `that is in progress, for ${minutes(serviceDeadlines.saveMs)} at most`,
    `the key is free within ${seconds(snapshotsComparedMs)} of the next start`,
    `a label of at most ${fixedLimits.nameCharacters} characters`,
    `unique within the account: 1 to ${fixedLimits.aliasCharacters} of`,
    `The service saves ${word(defaultHostLimits.savesInFlight)} machines at a time`,
    `Sizes are updated within ${snapshotPeriodMs / 1_000} seconds after a change`,
    `at most ${defaultLimits.snapshots} snapshots (\`MAYFLY_LIMIT_SNAPSHOTS\`)`,
    `once they use ${formatBytes(defaultLimits.snapshotStorageMb * 1024 ** 2)} (`,
    `Makes 1 to ${maxForkCount} copies of a running sandbox`,
    `the pool follows within ${poolTemplatesPeriodMs / 1_000} seconds`,
  ],
  'docs/sdk.md': [
    `when it is destroyed, ${defaultLimits.defaultTimeoutMinutes} minutes unless given`,
    `moves the expiry later, by ${defaultLimits.defaultTimeoutMinutes} minutes unless given`,
    `Up to ${formatBytes(defaultLimits.fileBytes)} each`,
    `in the last days, ${defaultUsageDays} unless given`,
    `then \`http://${config.host}:${config.port}\``,
  ],
  'packages/sdk/README.md': [
    `else the address is \`http://${config.host}:${config.port}\``,
    `printed more than ${formatBytes(maxUnreadBytes)} that you have not read`,
    `| a sandbox | ${defaultLimits.defaultTimeoutMinutes} minutes, set by the service |`,
    `exit code ${agent.timeoutExitCode} | ${word(defaultLimits.defaultCommandTimeoutMs / 60_000)} minute for \`exec\``,
    `| ${word(defaultTimes.requestTimeoutMs / 60_000)} minute, nearly ${word(Math.ceil(slowTimes.requestTimeoutMs / 60_000))} for what waits`,
    `| ${word(defaultTimes.deadlineMs / 60_000)} minutes, ${word(slowTimes.deadlineMs / 60_000)} for what waits`,
    `never longer than its \`deadlineMs\` | ${word(sdkDefaults.reconnectMs / 60_000)} minute |`,
    `for a single timer is ${Math.floor(longestTimerMs / 86_400_000)} days`,
    `at most \`maxRetries\` (${sdkDefaults.maxRetries}) times`,
    `for at most ${word(sdkCleanupMs / 1_000)} seconds before it throws`,
    `what exceeds ${formatBytes(fixedLimits.spoolBytes)} is dropped`,
  ],
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
  'docs/decisions/confinement.md': [
    `${leastServiceLimits.pids} threads), ${thousands(maxOpenFiles)} open files, no core dumps, an out-of-memory score of ${oomScores.service}:`,
    `has not ended ${seconds(jail.stopMs)} after a stop is killed (the supervisor does so after ${seconds(stopMs)})`,
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
    `${capitalized(word(defaultGatewayLimits.handshakesPerTurn))} handshakes begin per turn`,
  ],
  'docs/decisions/slow-bodies.md': [
    `every request with a body every ${seconds(defaultBodyPace.checkMs)}`,
    `| no byte arrives for | ${seconds(defaultBodyPace.stallMs)} |`,
    `after the first ${seconds(defaultBodyPace.graceMs)}, less arrives in ${seconds(defaultBodyPace.windowMs)} than | ${defaultBodyPace.minBytesPerSecond} bytes per second |`,
    `Bodies over ${formatBytes(uncountedBytes)} share memory`,
    `${formatBytes(bodyBytes.perAccount)} per account, ${formatBytes(bodyBytes.total)} in all`,
    `up to ${formatBytes(strangerBodyBytes)} by the two operations that sign in`,
    `does not count what the service itself holds beyond its usual ${formatBytes(ordinaryServiceBytes)}`,
    `together can hold the ${formatBytes(bodyBytes.total)} for an hour`,
  ],
  'ARCHITECTURE.md': [
    `A first start that exits with code ${cannotStartCode} has said`,
    `followed by a restart after ${seconds(restartPauses.firstMs)}, growing to ${seconds(restartPauses.longestMs)}`,
    `QEMU's translation buffer is ${translationBufferMib} MiB`,
    `A stream's window is small (${formatBytes(guestLimits.streamWindowBytes)})`,
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

it('docs/failure-contract.md has no time that is not compared', () => {
  const path = 'docs/failure-contract.md';
  const compared = (row: string): string =>
    (sentences[path] ?? []).reduce((text, each) => text.replaceAll(each, each.replaceAll(/\d/g, '#')), row);
  const rows = readPage(path)
    .text.split('\n')
    .filter((line) => line.startsWith('| '));
  const times = rows.map(
    (row) =>
      compared(row)
        .split(' | ')[1]
        ?.replace(/\(observed: .*?\)/, '') ?? '',
  );
  expect(times.filter((time) => time.includes('#')).length).toBeGreaterThan(20);
  expect(times.filter((time) => /\d/.test(time))).toEqual([]);
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
  const times: Readonly<Record<string, number>> = { Millisecond: 1, Second: 1_000, Minute: 60_000, Hour: 3_600_000 };
  const expression = new RegExp(`\\b${name}\\s+= "?([\\w. *<]+?)"?(?: //.*)?$`, 'm').exec(readPage(path).text)?.[1];
  const factors = (expression ?? '?').split(' * ').map((factor) => {
    const [count = '', shift = '0'] = factor.split(' << ');
    return times[factor.replace('time.', '')] ?? Number(count.replaceAll('_', '')) * 2 ** Number(shift);
  });
  const value = factors.reduce((product, factor) => product * factor);
  if (Number.isNaN(value)) throw new Error(`${path} has no constant ${name} with a number.`);
  return value;
}
