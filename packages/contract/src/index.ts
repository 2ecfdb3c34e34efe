export {
  describeFailedRules,
  type ErrorBody,
  type ErrorEntry,
  type ErrorType,
  errorBodySchema,
  errorTable,
  errorTypes,
  type RetryCategory,
} from './error-table.ts';
export { quoteForMessage, requestIdPattern, withoutNulPattern } from './fields.ts';
export {
  type AccountLimits,
  accountLimitNames,
  defaultLimits,
  fixedLimits,
  formatBytes,
  type Limits,
  maxForkCount,
  operatorLimitKeys,
  workspacePath,
} from './limits.ts';
export { openApiDocument } from './openapi/document.ts';
export { type Block, type Chapter, guide } from './openapi/guide.ts';
export { exampleOf } from './openapi/publish-schema.ts';
export type {
  CodeSample,
  JsonSchema,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from './openapi/types.ts';
export { defineOperations, type Operations } from './operations/all-operations.ts';
export type { ForkSandboxBody, RollbackSandboxBody } from './operations/copies.ts';
export type {
  KillExecutionBody,
  ListExecutionsQuery,
  RunCommandBody,
} from './operations/executions.ts';
export { signalNumbers } from './operations/executions.ts';
export type { DeleteFileQuery, ReadFileQuery, WriteFileBody } from './operations/files.ts';
export { resolveFilePath } from './operations/files.ts';
export { commonErrors, type Operation } from './operations/operation.ts';
export type { CreateSandboxBody, ExtendSandboxBody, ListSandboxesQuery } from './operations/sandboxes.ts';
export type { CreateSnapshotBody, ListSnapshotsQuery } from './operations/snapshots.ts';
export { type Account, accountSchema, type Usage, usageSchema } from './resources/account.ts';
export {
  type Execution,
  type ExecutionList,
  type ExecutionStatus,
  type ExecutionSummary,
  executionListSchema,
  executionSchema,
  executionStatuses,
  type StdinWrite,
} from './resources/execution.ts';
export {
  type DeletedFile,
  type Directory,
  type DirectoryEntry,
  deletedFileSchema,
  directorySchema,
  type File,
  type FileEncoding,
  fileSchema,
  type WrittenFile,
  writtenFileSchema,
} from './resources/file.ts';
export { type ForkList, type ForkResult, forkListSchema, forkResultSchema } from './resources/fork.ts';
export {
  type ClosedPort,
  closedPortSchema,
  type Port,
  type PortList,
  portListSchema,
  portSchema,
} from './resources/port.ts';
export {
  type DeletedSandbox,
  deletedSandboxSchema,
  type Sandbox,
  type SandboxList,
  type SandboxStatus,
  sandboxListSchema,
  sandboxSchema,
  sandboxStatuses,
} from './resources/sandbox.ts';
export {
  type DeletedSnapshot,
  deletedSnapshotSchema,
  type Snapshot,
  type SnapshotList,
  type SnapshotStatus,
  snapshotListSchema,
  snapshotSchema,
  snapshotStatuses,
} from './resources/snapshot.ts';
export { type Stats, statsSchema } from './resources/stats.ts';
export type { Ticket } from './resources/ticket.ts';
export { type SizeName, type SizeResources, sizeNames, sizes } from './sizes.ts';
