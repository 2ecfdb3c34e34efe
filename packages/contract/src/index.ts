export { type ErrorBody, errorBodySchema } from './errors/error-body.ts';
export { type ErrorEntry, type ErrorType, errorTable, errorTypes, type RetryCategory } from './errors/error-table.ts';
export { describeFailedRules } from './errors/failed-rules.ts';
export { limits, workspacePath } from './limits.ts';
export { type CreateSandboxBody, createSandboxBody, createSandboxHeaders } from './operations/create-sandbox.ts';
export { idParameters } from './operations/id-parameters.ts';
export { type ListSandboxesQuery, listSandboxesQuery } from './operations/list-sandboxes.ts';
export { type RunCommandBody, runCommandBody } from './operations/run-command.ts';
export { type Execution, type ExecutionStatus, executionSchema, executionStatuses } from './resources/execution.ts';
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
export { type SizeName, type SizeResources, sizeNames, sizes } from './sizes.ts';
