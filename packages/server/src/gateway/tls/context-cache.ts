/** A thing that is made anew from a time on. */
export interface Renewable {
  readonly renewAtMs: number;
}

export interface ContextCacheOptions<Thing extends Renewable> {
  /** How many are kept; the one unused for longest goes first. */
  readonly capacity: number;
  readonly make: (name: string) => Thing;
  readonly nowMs: () => number;
}

/** Keeps what was made for a name while there is room and until it is to be renewed. */
export function contextCache<Thing extends Renewable>(options: ContextCacheOptions<Thing>): (name: string) => Thing {
  const { capacity, make, nowMs } = options;
  // In the order of their last use.
  const kept = new Map<string, Thing>();
  return (name) => {
    const found = kept.get(name);
    const thing = found !== undefined && nowMs() < found.renewAtMs ? found : make(name);
    kept.delete(name);
    kept.set(name, thing);
    for (const oldest of kept.keys()) {
      if (kept.size <= capacity) break;
      kept.delete(oldest);
    }
    return thing;
  };
}
