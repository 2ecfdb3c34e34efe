import { dashboardErrorStatus, type dashboardErrorTable } from '@mayfly/contract/dashboard';

/** An error that only the dashboard's own operations have: a type of their error table and a message for people. */
export class DashboardError extends Error {
  readonly type: keyof typeof dashboardErrorTable;
  readonly status: number;

  constructor(type: keyof typeof dashboardErrorTable, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'DashboardError';
    this.type = type;
    this.status = dashboardErrorStatus(type);
  }
}
