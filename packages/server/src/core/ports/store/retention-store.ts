/** What is removed when its time is over, a little at a time so that nothing else waits. */
export interface RetentionStore {
  /** Removes up to so many executions that ended before; gives how many. */
  removeExecutions(endedBeforeMs: number, most: number): Promise<number>;
  /** Removes up to so many deleted and failed sandboxes that were created before and have no executions any more; gives how many. */
  removeSandboxes(createdBeforeMs: number, most: number): Promise<number>;
}
