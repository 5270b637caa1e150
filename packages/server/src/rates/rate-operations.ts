// Giving back the permits of the rate limiters. They are those of the whole service, so the installation remembers the idempotency key.

import type { InputOf, Replenishment } from '@tallystick/contract';
import { INSTALLATION } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { instant } from '../runtime/clock.ts';
import type { IdempotencyTime } from '../streams/append/idempotency-key.ts';
import { type AnswerParts, jobOperation, keepAnswer } from '../work/job-keys.ts';
import type { RateLimits } from './rate-limits.ts';

export interface RateParts extends IdempotencyTime, AnswerParts {
  /** Undefined: no rate is limited. */
  readonly rates: Pick<RateLimits, 'replenish'> | undefined;
  readonly installation: () => Promise<TenantRecord>;
}

export function createRateOperations(parts: RateParts) {
  const { rates, clock } = parts;
  const owner = async () => ({ tenant: INSTALLATION, tenantRecord: await parts.installation() });
  const replenish = async (call: Call) => {
    const limiters = rates === undefined ? [] : await rates.replenish();
    const body: Replenishment = { replenishedAt: instant(clock.now()), limiters: [...limiters] };
    const { kind, body: told } = await keepAnswer({ ...call, ...(await owner()) }, body, parts);
    return { kind: kind === 'Accepted' ? 'Done' : kind, body: told } as const;
  };
  return {
    'rateLimits.replenish': {
      ...jobOperation<InputOf<'rateLimits.replenish'>, Replenishment, 'Done'>(replenish),
      writesTo: owner,
    },
  };
}
