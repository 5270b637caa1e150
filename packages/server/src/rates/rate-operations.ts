// Giving back the permits of the rate limiters.

import type { Answer } from '@tallystick/contract';
import { instant, type Clock } from '../runtime/clock.ts';
import type { RateLimits } from './rate-limits.ts';

export function createRateOperations(rates: Pick<RateLimits, 'replenish'> | undefined, clock: Clock) {
  return {
    async 'rateLimits.replenish'(): Promise<Answer<'rateLimits.replenish'>> {
      const limiters = rates === undefined ? [] : await rates.replenish();
      return { kind: 'Done', body: { replenishedAt: instant(clock.now()), limiters: [...limiters] } };
    },
  };
}
