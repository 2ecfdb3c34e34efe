export { type ErrorBody, errorBodySchema } from './errors/error-body.ts';
export { type ErrorEntry, type ErrorType, errorTable, errorTypes, type RetryCategory } from './errors/error-table.ts';
export { describeFailedRules } from './errors/failed-rules.ts';
export { withoutNulPattern } from './fields.ts';
export { type AccountLimits, accountLimitNames, defaultLimits, type Limits, workspacePath } from './limits.ts';
export { openApiDocument } from './openapi/document.ts';
export { exampleOf } from './openapi/example.ts';
export { type Block, type Chapter, guide } from './openapi/guide.ts';
export type {
  JsonSchema,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from './openapi/types.ts';
export { defineOperations, type Operations } from './operations/all-operations.ts';
export type { CreateSandboxBody } from './operations/create-sandbox.ts';
export { resolveFilePath } from './operations/file-path.ts';
export type { DeleteFileQuery, ReadFileQuery, WriteFileBody } from './operations/files.ts';
export type { ListExecutionsQuery } from './operations/list-executions.ts';
export type { ListSandboxesQuery } from './operations/list-sandboxes.ts';
export type { ExtendSandboxBody } from './operations/one-sandbox.ts';
export { commonErrors, type Operation } from './operations/operation.ts';
export type { RunCommandBody } from './operations/run-command.ts';
export { requestIdPattern } from './request-id.ts';
export { type Account, accountSchema } from './resources/account.ts';
export {
  type Execution,
  type ExecutionList,
  type ExecutionStatus,
  type ExecutionSummary,
  executionListSchema,
  executionSchema,
  executionStatuses,
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
export { type Usage, usageSchema } from './resources/usage.ts';
export { type SizeName, type SizeResources, sizeNames, sizes } from './sizes.ts';
