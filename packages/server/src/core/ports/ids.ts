/** What an id names; it is the part of the id before the underscore. */
export type IdKind = 'sbx' | 'pool' | 'exec' | 'acct' | 'key' | 'crd';

/** Gives out ids that are never given out twice. */
export interface Ids {
  next(kind: IdKind): string;
}
