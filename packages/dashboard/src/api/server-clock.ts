/** How far the service's clock is ahead of this one, from the Date of its answers. Clocks of laptops are wrong surprisingly often. */
let aheadMs = 0;

/** A Date header has whole seconds, so smaller differences mean nothing. */
const noiseMs = 2_000;

export function noteServerDate(header: string | null, nowMs = Date.now()): void {
  const dateMs = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(dateMs)) return;
  const differenceMs = dateMs - nowMs;
  aheadMs = Math.abs(differenceMs) < noiseMs ? 0 : differenceMs;
}

/** The time on the service's clock, in milliseconds since 1970. */
export function serverNowMs(nowMs = Date.now()): number {
  return nowMs + aheadMs;
}
