/** A port of a sandbox. */
export interface PreviewTarget {
  readonly sandboxId: string;
  readonly port: number;
}

/** A request, socket or connection that is open through a preview. */
interface Tracked extends PreviewTarget {
  readonly counted: boolean;
  readonly disconnect: () => void;
}

interface SandboxTraffic {
  readonly tracked: Set<Tracked>;
  counted: number;
}

/** Everything that is open through previews, so that closing a preview disconnects all of it at once. */
export class PreviewTraffic {
  readonly #sandboxes = new Map<string, SandboxTraffic>();
  #disconnects = 0;

  /** The number of calls of `disconnect`. If it is unchanged after a preview was looked up, the preview was not closed meanwhile. */
  get disconnects(): number {
    return this.#disconnects;
  }

  /** The number of requests and sockets open through all previews. */
  get count(): number {
    let count = 0;
    for (const { counted } of this.#sandboxes.values()) count += counted;
    return count;
  }

  /** The number of requests and sockets open through the previews of a sandbox. */
  countOf(sandboxId: string): number {
    return this.#sandboxes.get(sandboxId)?.counted ?? 0;
  }

  /** Tracks a request or socket until the returned function is called. `disconnect` is called if its preview ends before that. */
  track(target: PreviewTarget, disconnect: () => void): () => void {
    return this.#add({ ...target, disconnect, counted: true });
  }

  /** Tracks a visitor's connection in the same way. It is not counted, since any number of requests may come over it. */
  trackConnection(target: PreviewTarget, disconnect: () => void): () => void {
    return this.#add({ ...target, disconnect, counted: false });
  }

  /** Disconnects everything that is open through one port of a sandbox, or through all its ports. */
  disconnect(sandboxId: string, port?: number): void {
    this.#disconnects += 1;
    for (const tracked of this.#sandboxes.get(sandboxId)?.tracked ?? []) {
      if (port !== undefined && tracked.port !== port) continue;
      this.#remove(tracked);
      tracked.disconnect();
    }
  }

  #add(tracked: Tracked): () => void {
    const traffic = this.#sandboxes.get(tracked.sandboxId) ?? { tracked: new Set(), counted: 0 };
    this.#sandboxes.set(tracked.sandboxId, traffic);
    traffic.tracked.add(tracked);
    if (tracked.counted) traffic.counted += 1;
    return () => this.#remove(tracked);
  }

  #remove(tracked: Tracked): void {
    const traffic = this.#sandboxes.get(tracked.sandboxId);
    if (!traffic?.tracked.delete(tracked)) return;
    if (tracked.counted) traffic.counted -= 1;
    if (traffic.tracked.size === 0) this.#sandboxes.delete(tracked.sandboxId);
  }
}
