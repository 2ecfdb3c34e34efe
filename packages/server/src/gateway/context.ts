import type { Core } from '../core/context.ts';
import type { Connect, TunnelAgent } from './forward/tunnel-agent.ts';
import type { GatewayLimits } from './limits.ts';

/** What forwarding needs. */
export interface GatewayContext {
  readonly core: Pick<Core, 'store' | 'machines' | 'previewTraffic' | 'metrics' | 'log'>;
  /** Previews are at hosts one label below it. */
  readonly domain: string;
  /** Whether this peer's X-Forwarded-For is believed. */
  readonly isTrustedProxy: (address: string) => boolean;
  readonly limits: GatewayLimits;
  readonly connect: Connect;
  readonly agent: TunnelAgent;
}
