// A violation as a reader gets it. It tells of an event: a reader who may not see that event does not learn of the violation, and one
// who may not see all that is behind it gets it without `fields` and `groupKey`. Those tell what is in the event, so that to read them of a
// secret one is in the log, as to read the event is.

import type { PolicyViolation } from '@tallystick/contract';
import { decodeEntry, isNotice } from '@tallystick/evidence';
import { isAtLeast } from '../access/roles.ts';
import type { Call } from '../call.ts';
import { storedFacts } from '../events/facts.ts';
import { noteSecretsRead, type ReadingCall, type ReadNoticeParts } from '../events/secret-read.ts';
import { readFacts } from '../events/show.ts';
import { ownClearance, sightOf, type Visibility } from '../policies/sight.ts';
import { instant } from '../runtime/clock.ts';
import type { LogReader } from '../streams/log.ts';
import type { StoredViolation } from './violations.ts';

export interface SeenViolation {
  readonly violation: StoredViolation;
  /** Whether the reader sees all that is behind it. */
  readonly isWhole: boolean;
}

/** Undefined: the reader may not know of it. */
export async function violationSeen(
  call: Pick<Call, 'caller' | 'tenant' | 'tenantRecord'>,
  violation: StoredViolation,
  { log }: { readonly log: Pick<LogReader, 'forTenant'> },
): Promise<SeenViolation | undefined> {
  const sight = sightOf(call);
  const { eventId, classification, highest } = violation;
  let visibility: Visibility = sight.judge({ kind: 'Event', classification, facts: () => undefined });
  if (sight.index.access !== undefined) {
    const stored = await log.forTenant(call.tenant!).event(eventId, sight.index.visible);
    if (stored === undefined || isNotice(decodeEntry(stored.entry).kind)) return undefined;
    const { content } = stored;
    visibility = sight.judge({
      kind: 'Event',
      classification: stored.classification,
      facts() {
        if (content === undefined || !('texts' in content)) return undefined;
        const facts = readFacts(content.texts, stored.classification);
        return 'fault' in facts ? undefined : storedFacts(facts, content.texts[1]);
      },
    });
  }
  const { extent, withheldFields } = visibility;
  if (extent === 'Invisible') return undefined;
  const isCleared = isAtLeast(ownClearance(call), highest);
  return { violation, isWhole: isCleared && extent === 'Whole' && withheldFields.length === 0 };
}

export function noteSecretsTold(
  call: ReadingCall,
  seen: readonly SeenViolation[],
  parts: ReadNoticeParts,
): Promise<void> {
  const told = seen.filter(
    ({ isWhole, violation: { fields, groupKey } }) =>
      isWhole && (fields !== undefined || groupKey !== undefined),
  );
  // What a threshold counts by may come from a secret event, though another one has crossed it.
  const events = told.map(({ violation: { eventId, highest } }) => ({ eventId, classification: highest }));
  return noteSecretsRead(call, events, parts);
}

export function showViolation({ violation, isWhole }: SeenViolation): PolicyViolation {
  const { fields, groupKey, observedValue, threshold, acknowledged } = violation;
  return {
    violationId: violation.violationId,
    kind: violation.kind,
    eventId: violation.eventId,
    policyId: violation.policyId,
    policyName: violation.policyName,
    policyVersion: violation.policyVersion,
    ruleId: violation.ruleId,
    violationType: violation.violationType,
    severity: violation.severity,
    detectedAt: instant(violation.detectedAtMs),
    ...(isWhole && fields !== undefined && { fields: [...fields] }),
    ...(isWhole && groupKey !== undefined && { groupKey }),
    ...(observedValue !== undefined && { observedValue }),
    ...(threshold !== undefined && { threshold }),
    status: acknowledged === undefined ? 'Open' : 'Acknowledged',
    ...(acknowledged !== undefined && { acknowledgedBy: acknowledged.by }),
    ...(acknowledged?.comment !== undefined && { comment: acknowledged.comment }),
  };
}
