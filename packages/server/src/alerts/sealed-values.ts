// The values that thresholds have counted by, where the content that they come from is encrypted at rest: each is a box in its
// violation, so that it lies in the clear nowhere either. Who reads violations through `opened` sees them as if they had never been
// sealed.

import type { Classification, TenantId } from '@tallystick/contract';
import { ClosedBox, type SecretBoxes, type SecretPlace } from '../keys/secret-box.ts';
import type { NewViolation, StoredViolation, ViolationStore } from './violations.ts';

export interface SealedValues {
  /** The same violations, as they are stored. */
  seal(tenant: TenantId, violations: readonly NewViolation[]): Promise<NewViolation[]>;
  opened(violations: ViolationStore): ViolationStore;
}

/** `sealed`: the classifications whose content is encrypted. */
export function createSealedValues(boxes: SecretBoxes, sealed: readonly Classification[]): SealedValues {
  const open = async (violation: StoredViolation): Promise<StoredViolation> => {
    const { groupKey: box, isSealed, ...others } = violation;
    if (isSealed !== true || box === undefined) return violation;
    try {
      return { ...others, groupKey: await boxes.open(box, placeOf(violation.tenant, violation)) };
    } catch (error) {
      // It is no evidence: the violation is there without it.
      if (error instanceof ClosedBox) return others;
      throw error;
    }
  };
  return {
    seal: (tenant, violations) =>
      Promise.all(
        violations.map(async (violation) => {
          const { groupKey, classification, highest } = violation;
          // The value may come from any of the events behind it.
          const isMeant = sealed.includes(classification) || sealed.includes(highest);
          if (groupKey === undefined || !isMeant) return violation;
          return {
            ...violation,
            groupKey: await boxes.seal(groupKey, placeOf(tenant, violation)),
            isSealed: true,
          };
        }),
      ),
    opened: (violations) => ({
      forTenant(tenant) {
        const own = violations.forTenant(tenant);
        const orNone = async (found: StoredViolation | undefined) => found && open(found);
        return {
          windows: (keys) => own.windows(keys),
          list: async (filter, request) => Promise.all((await own.list(filter, request)).map(open)),
          count: (filter) => own.count(filter),
          find: async (violationId) => orNone(await own.find(violationId)),
          acknowledge: async (violationId, noted) => orNone(await own.acknowledge(violationId, noted)),
          forgetValues: (eventIds) => own.forgetValues(eventIds),
          withValues: (after, limit) => own.withValues(after, limit),
          removeOf: (eventIds) => own.removeOf(eventIds),
          removeWindows: (begunUntilMs) => own.removeWindows(begunUntilMs),
        };
      },
    }),
  };
}

function placeOf(tenant: TenantId, { violationId }: Pick<NewViolation, 'violationId'>): SecretPlace {
  return { tenant, kind: 'Violation', id: violationId, purpose: 'value' };
}
