// Warns of API keys that are in use and soon end, so that somebody rotates them before their producer is refused.

import { instant } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ApiKeyRecord } from './api-keys.ts';

const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;
/** Beyond it some are warned of again. */
const KEYS_MAX = 10_000;

/** To be called with each key that authenticates a request; warns once a day of each. */
export function createExpiryWarnings(telemetry: Pick<Telemetry, 'warn'>) {
  const warnedAtMs = new Map<string, number>();
  return ({ keyId, tenantId, expiresAtMs }: ApiKeyRecord, nowMs: number): void => {
    if (expiresAtMs === undefined || expiresAtMs - nowMs > SOON_MS) return;
    if (nowMs - (warnedAtMs.get(keyId) ?? -Infinity) < DAY_MS) return;
    if (warnedAtMs.size >= KEYS_MAX) warnedAtMs.clear();
    warnedAtMs.set(keyId, nowMs);
    const facts = { keyId, tenant: tenantId, expiresAt: instant(expiresAtMs) };
    telemetry.warn('an API key that is in use ends soon; rotate it', facts);
  };
}
