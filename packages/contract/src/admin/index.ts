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
  suspendAccount,
} from './accounts.ts';
export { type AdminKey, type AdminKeyList, type CreatedKey, createKey, listKeys, revokeKey } from './keys.ts';
export {
  type AdminErrorBody,
  type AdminErrorType,
  type AdminOperation,
  adminErrorBodySchema,
  adminErrorTable,
  adminSocketName,
  defaultDataDir,
} from './protocol.ts';
export { formatUsd, maxMicroUsd } from './usd.ts';
