/** A port of a sandbox. */
export interface PreviewTarget {
  readonly sandboxId: string;
  readonly port: number;
}

/** Something that is open through a preview. */
interface Held extends PreviewTarget {
  readonly counted: boolean;
  readonly cut: () => void;
}

interface SandboxTraffic {
  readonly held: Set<Held>;
  counted: number;
}

/** What is open through previews at this moment, so that the end of one cuts all of it at once. */
export class PreviewTraffic {
  readonly #sandboxes = new Map<string, SandboxTraffic>();
  #cuts = 0;

  /** How often anything was cut so far: who looks a preview up and finds this unchanged afterwards has not missed its end. */
  get cuts(): number {
    return this.#cuts;
  }

  /** How many requests and sockets are open through all previews. */
  get count(): number {
    let count = 0;
    for (const { counted } of this.#sandboxes.values()) count += counted;
    return count;
  }

  /** How many requests and sockets are open through the previews of a sandbox. */
  countOf(sandboxId: string): number {
    return this.#sandboxes.get(sandboxId)?.counted ?? 0;
  }

  /** Remembers a request or socket, to be cut with its preview; call what it gives once it is over. */
  hold(target: PreviewTarget, cut: () => void): () => void {
    return this.#hold({ ...target, cut, counted: true });
  }

  /** The same for a visitor's connection, over which any number of requests come. */
  holdConnection(target: PreviewTarget, cut: () => void): () => void {
    return this.#hold({ ...target, cut, counted: false });
  }

  /** Cuts what is open through a port of a sandbox, or through all of them. */
  cut(sandboxId: string, port?: number): void {
    this.#cuts += 1;
    for (const held of this.#sandboxes.get(sandboxId)?.held ?? []) {
      if (port !== undefined && held.port !== port) continue;
      this.#release(held);
      held.cut();
    }
  }

  #hold(held: Held): () => void {
    const traffic = this.#sandboxes.get(held.sandboxId) ?? { held: new Set(), counted: 0 };
    this.#sandboxes.set(held.sandboxId, traffic);
    traffic.held.add(held);
    if (held.counted) traffic.counted += 1;
    return () => this.#release(held);
  }

  #release(held: Held): void {
    const traffic = this.#sandboxes.get(held.sandboxId);
    if (!traffic?.held.delete(held)) return;
    if (held.counted) traffic.counted -= 1;
    if (traffic.held.size === 0) this.#sandboxes.delete(held.sandboxId);
  }
}
