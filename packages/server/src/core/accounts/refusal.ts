import type { AdminErrorType } from '@mayfly/contract/admin/errors.ts';

/** Why an operator's wish about an account is not granted, in a sentence that says what to do. */
export class AccountRefusal extends Error {
  readonly type: AdminErrorType;

  constructor(type: AdminErrorType, message: string) {
    super(message);
    this.name = 'AccountRefusal';
    this.type = type;
  }
}
