export { type DashboardOperations, dashboardOperations, unmountedOperations } from './all-operations.ts';
export {
  type DashboardErrorBody,
  type DashboardErrorType,
  dashboardErrorStatus,
  dashboardErrorTable,
} from './errors.ts';
export type { ApiKey, ApiKeyList, CreatedApiKey, RevokedApiKey } from './keys.ts';
export { dashboardLimits } from './limits.ts';
export { commonDashboardErrors, type DashboardOperation, dashboardApiPrefix } from './operation.ts';
export { dashboardPages, signInLinkUrl } from './pages.ts';
export {
  type DeletedSessions,
  isPasswordLength,
  type Session,
  type SessionList,
  type SessionSummary,
} from './sessions.ts';
export type { TerminalList } from './terminals.ts';
export type { EnabledTwoFactor, TwoFactorSetup } from './two-factor.ts';
export {
  type AccountLimitsInUse,
  type Quota,
  type RateWindow,
  type RunningSize,
  type UsageDay,
  type UsageDays,
  type UsageItem,
  usageItems,
} from './usage.ts';
