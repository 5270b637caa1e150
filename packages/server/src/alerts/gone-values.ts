// The values that thresholds have counted by, of events that have lost theirs. Who removes single values names their events, and
// forgets at once; this looks for what is left after a purge, which names ranges, and after a crash.

import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import type { LogReader } from '../streams/log.ts';
import type { ViolationStore } from './violations.ts';

export interface GoneValuesParts {
  readonly violations: ViolationStore;
  readonly log: Pick<LogReader, 'forTenant'>;
}

const PORTION = 200;

/** All violations of the tenant that have such a value are looked at: of each window of a threshold there is one. */
export async function forgetGoneValues(
  tenant: TenantId,
  signal: AbortSignal,
  parts: GoneValuesParts,
  onPortion: () => void,
): Promise<void> {
  const violations = parts.violations.forTenant(tenant);
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const portion = await violations.withValues(after, PORTION);
    await forgetIfGone(
      tenant,
      portion.map(({ eventId }) => eventId),
      parts,
    );
    onPortion();
    if (portion.length < PORTION) return;
    after = portion.at(-1)!.violationId;
  }
}

/** Of these events, what violations hold of those that have lost something since. */
export async function forgetIfGone(
  tenant: TenantId,
  eventIds: readonly string[],
  { violations, log }: GoneValuesParts,
): Promise<void> {
  const gone: string[] = [];
  for (const eventId of new Set(eventIds)) {
    const content = (await log.forTenant(tenant).event(eventId, CLASSIFICATIONS))?.content;
    if (content === undefined || 'fault' in content) continue;
    if ('purgedAtMs' in content || content.deletedPaths !== undefined) gone.push(eventId);
  }
  await violations.forTenant(tenant).forgetValues(gone);
}
