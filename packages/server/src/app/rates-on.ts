// The limits of rates, with the place where requests are counted.

import type { Health } from '../admin/health.ts';
import { LocalCounter } from '../rates/local-counter.ts';
import { createRateLimits, type RateLimits } from '../rates/rate-limits.ts';
import { ratesCheck } from '../rates/rates-check.ts';
import type { Surroundings } from './surroundings.ts';

/** Undefined: nothing is limited. */
export async function ratesOn(
  { config, clock, telemetry }: Pick<Surroundings, 'config' | 'clock' | 'telemetry'>,
  health: Pick<Health, 'add'>,
  built: Pick<DisposableStack, 'use'>,
): Promise<RateLimits | undefined> {
  const here = () => new LocalCounter(clock);
  const url = config.rateLimiting.enableRateLimiting ? config.redis.url : undefined;
  if (url === undefined) return createRateLimits(config, here, clock);
  // Loaded on demand: most installations have none, and to load the client is a fifth of what the main thread does at a start.
  const { createRedisCounters } = await import('../outbound/redis-counters.ts');
  const shared = built.use(createRedisCounters({ url: url.reveal(), here, clock, telemetry }));
  health.add(ratesCheck(() => shared.isShared()));
  return createRateLimits(config, (limiter) => shared.of(limiter), clock);
}
