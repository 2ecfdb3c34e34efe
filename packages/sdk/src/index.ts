export { ApiError, MayflyError } from './api/api-error.ts';
export { toApi } from './api/casing.ts';
export * from './api/error-classes.ts';
export type * from './api/resources.ts';
export { Command, type OutputOptions } from './commands/command.ts';
export type { CommandLine } from './commands/command-line.ts';
export type { Output } from './commands/output.ts';
export { CommandResult, type ResultPromise } from './commands/result.ts';
export type { CommandOptions, ExecOptions, SpawnOptions } from './commands/start.ts';
export {
  CommandFailedError,
  ConnectionError,
  type EndReason,
  RequestTimeoutError,
  SandboxEndedError,
  UnexpectedResponseError,
} from './errors.ts';
export type { Connection, RequestOptions, RequestSettings } from './http/connection.ts';
export type { Listing } from './http/pages.ts';
export { Mayfly, type RawRequestOptions } from './mayfly.ts';
export type { Files } from './sandboxes/files.ts';
export type { Ports } from './sandboxes/ports.ts';
export { type ForkOptions, type Forks, Sandbox, type SnapshotOptions } from './sandboxes/sandbox.ts';
export type { CreateOptions, ListOptions, Sandboxes } from './sandboxes/sandboxes.ts';
export type { Snapshots } from './sandboxes/snapshots.ts';
export type { WatchStatsOptions } from './sandboxes/watch-stats.ts';
export { connectionOf, type MayflyOptions, type Profile, type ProfileFile, profilePathOf } from './settings.ts';
export type { Terminal, TerminalOptions } from './terminals/terminal.ts';
