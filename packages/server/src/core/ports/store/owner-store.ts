/** The service that the database belongs to. */
export interface OwnerStore {
  /** Makes the database belong to a data folder, unless it belongs to one already; whether it belongs to this one. */
  belongsTo(dataFolderId: string): Promise<boolean>;
  /** Notes that the service is there and has looked after its machines until now. */
  noteAlive(nowMs: number): Promise<void>;
  /** When that was noted last; null if never. */
  lastAliveMs(): Promise<number | null>;
}
