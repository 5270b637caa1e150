// Which limiters a request passes, and how they are told of. One object for all protocols; without it nothing is limited.

import { AuditError, LIMITS, type TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { CounterOf } from './counter.ts';
import { Limiter, type RateState } from './limiter.ts';

interface LimiterConfig {
  readonly window: { readonly ms: number };
  readonly autoReplenishment: boolean;
  readonly queueLimit: number;
  /** Undefined: no limit. */
  readonly permitLimit: number | undefined;
}

export interface RatesConfig {
  readonly rateLimiting: { readonly enableRateLimiting: boolean; readonly globalLimiter: LimiterConfig };
  readonly mcpRateLimiting: { readonly mcpLimiter: LimiterConfig };
}

/** The policy by which requests are limited before anything is known of their caller. */
export type RatePolicy = 'Global' | 'Mcp';

/** Who asks, as far as a limiter wants to know. */
export interface RatedSender {
  /** Requests of one partition share its permits. */
  readonly partition: () => string;
  /** Whether the sender has hung up meanwhile; it takes no permit then. */
  readonly isGone: () => boolean;
  /** Called with each limiter that the request has come to. */
  readonly onRate: (state: RateState) => void;
}

export interface RateLimits {
  /** Throws RATE_LIMITED. Nothing to wait for, unless counts are shared or the sender stands in a queue. */
  admit(policy: RatePolicy, sender: RatedSender): void | Promise<void>;
  /** The same for the ingestion of a tenant, which counts over all its senders. */
  admitIngestion(
    tenant: TenantId,
    tier: 'Standard' | 'Premium',
    sender: Pick<RatedSender, 'onRate'>,
  ): void | Promise<void>;
  /** Gives back all permits; the names of the limiters. */
  replenish(): Promise<readonly string[]>;
  /** Who waits for a permit is refused, and so is who would. */
  stopWaiting(): void;
}

const TENANT_WINDOW_MS = 60_000;

export function createRateLimits(
  { rateLimiting, mcpRateLimiting }: RatesConfig,
  counterOf: CounterOf,
  clock: Clock,
): RateLimits | undefined {
  const { globalLimiter, enableRateLimiting } = rateLimiting;
  const { mcpLimiter } = mcpRateLimiting;
  if (!enableRateLimiting) return undefined;
  const limiterOf = (name: string, settings: LimiterConfig) => ({
    limit: settings.permitLimit,
    limiter: new Limiter({ ...settings, name, windowMs: settings.window.ms }, counterOf(name), clock),
  });
  const policies = { Global: limiterOf('Global', globalLimiter), Mcp: limiterOf('MCP', mcpLimiter) };
  const tenants = new Limiter(
    { name: 'Ingestion', windowMs: TENANT_WINDOW_MS, autoReplenishment: true, queueLimit: 0 },
    counterOf('Ingestion'),
    clock,
  );
  return {
    admit(policy, { partition, isGone, onRate }) {
      const { limit, limiter } = policies[policy];
      if (limit === undefined) return;
      return settle(limiter.take(partition(), limit, isGone), onRate);
    },
    admitIngestion(tenant, tier, { onRate }) {
      const limit = tier === 'Premium' ? LIMITS.requestsPerMinutePremium : LIMITS.requestsPerMinuteStandard;
      return settle(tenants.take(tenant, limit), onRate);
    },
    async replenish() {
      const all = [policies.Global, policies.Mcp].filter(({ limit }) => limit !== undefined);
      const limiters = [...all.map(({ limiter }) => limiter), tenants];
      await Promise.all(limiters.map((limiter) => limiter.replenish()));
      return limiters.map(({ name }) => name);
    },
    stopWaiting() {
      for (const { limiter } of Object.values(policies)) limiter.stopWaiting();
    },
  };
}

function settle(
  taken: RateState | Promise<RateState>,
  onRate: (state: RateState) => void,
): void | Promise<void> {
  const passed = (state: RateState) => {
    onRate(state);
    if (!state.isGranted) throw tooMany(state);
  };
  return taken instanceof Promise ? taken.then(passed) : passed(taken);
}

function tooMany({ limiter, limit, windowMs, resetsInMs }: RateState): AuditError {
  const retryAfterSeconds = Math.max(1, Math.ceil(resetsInMs / 1000));
  return new AuditError(
    'RATE_LIMITED',
    `Too many requests: the limit ${limiter} allows ${limit} in ${windowMs / 1000} s. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
}
