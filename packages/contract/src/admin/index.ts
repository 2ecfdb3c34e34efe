export {
  type AccountLimitField,
  type AdminLimits,
  accountLimitFieldNames,
  accountLimitFields,
  getLimits,
  type SetLimitsBody,
  setLimits,
} from './account-limits.ts';
export {
  type AdminAccount,
  type AdminAccountList,
  addCredit,
  type CreatedAccount,
  createAccount,
  getAccount,
  listAccounts,
  resumeAccount,
  type SuspendedAccount,
  suspendAccount,
} from './accounts.ts';
export { type AuditEvent, type AuditList, listAuditEvents } from './audit.ts';
export { type AdminKey, type AdminKeyList, type CreatedKey, createKey, listKeys, revokeKey } from './keys.ts';
export {
  type AdminErrorBody,
  type AdminErrorType,
  type AdminOperation,
  adminErrorBodySchema,
  adminErrorTable,
  adminSocketName,
  defaultDataDir,
  operatorHeader,
  serviceFolderName,
} from './protocol.ts';
export {
  type AdminSandbox,
  type AdminSandboxList,
  destroySandbox,
  destroySandboxesOfAccount,
  listSandboxes,
  listSandboxesOfAccount,
} from './sandboxes.ts';
export { getService } from './service.ts';
export { createLoginLink, inviteAccount, resetPassword, type SignInLink } from './sign-in.ts';
export { formatUsd, maxMicroUsd } from './usd.ts';
