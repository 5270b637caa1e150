// What would be purged until an instant: how many events, by the policy that has decided about them. It reads only when content
// expires and what has decided, portion by portion; what is stored is read only where holds are to be asked, or where the reader does
// not see everything. What such a reader does not see whole is not counted: the figures would tell that it is there, and by the
// conditions of the policy what is in it.

import {
  type Answer,
  AuditError,
  type InputOf,
  type PolicyId,
  type PolicyPreview,
  type TenantId,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { factsOf } from '../events/show.ts';
import { seesEverything, sightOf } from '../policies/sight.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { EXPIRY_SPAN, type IndexSpan, type RemovalStore } from '../streams/removal/removal.ts';
import { withoutDeletions } from '../streams/removal/without-deletions.ts';
import type { TreesWith } from '../streams/tree.ts';
import { gatherRemovable } from './removable.ts';

export interface PreviewParts {
  readonly removal: Pick<RemovalStore, 'expired' | 'expirySpan' | 'deletions'>;
  readonly log: LogReader;
  readonly trees: TreesWith<'tree'>;
  readonly clock: Clock;
}

/** A caller's clock may be behind. */
const PAST_MS_MAX = 300_000;

export function createRetentionOperations(parts: PreviewParts) {
  return {
    'retention.preview': (call: Call, { until }: InputOf<'retention.preview'>) => preview(call, until, parts),
  };
}

async function preview(
  call: Call,
  until: string | undefined,
  parts: PreviewParts,
): Promise<Answer<'retention.preview'>> {
  const { tenant, tenantRecord, deadline } = call;
  const untilMs = untilIn(until, parts.clock.now());
  const counts = new Map<PolicyId | undefined, PolicyPreview>();
  let heldEvents = 0;
  const pause = pausesBy(parts.clock);
  const counting = { ...parts, isCounted: seesEverything(call) ? undefined : seenWholeBy(call) };
  const span = tenantRecord && (await parts.removal.expirySpan(tenant!, untilMs));
  for await (const portion of span ? leftOf(tenant!, span, parts) : []) {
    deadline.throwIfPassed();
    const gathered = await gatherRemovable(tenantRecord!, portion, untilMs, counting, () => {
      deadline.throwIfPassed();
      return pause();
    });
    heldEvents += gathered.heldEvents;
    for (const { policy, spans } of gathered.removable) {
      const name = tenantRecord!.policies.find(({ policyId }) => policyId === policy?.policyId)?.name;
      const known = counts.get(policy?.policyId)?.events ?? 0;
      counts.set(policy?.policyId, {
        ...(policy && { policyId: policy.policyId, policyName: name ?? policy.policyName }),
        events: spans.reduce((sum, each) => sum + each.endIndex - each.firstIndex, known),
      });
    }
  }
  const byPolicy = [...counts.values()].sort((a, b) => b.events - a.events);
  return { kind: 'Done', body: { until: instant(untilMs), byPolicy, heldEvents } };
}

function seenWholeBy(call: Call): (event: StoredEvent) => boolean {
  const sight = sightOf(call);
  return (event) => {
    const known = factsOf(event);
    if (known === undefined) return false;
    const seen = { kind: 'Event', classification: event.classification, facts: () => known } as const;
    const { extent, withheldFields } = sight.judge(seen);
    return extent === 'Whole' && withheldFields.length === 0;
  };
}

/** In portions. What a notice names already is purged, though its content may still be there. */
async function* leftOf(tenant: TenantId, span: IndexSpan, { removal, trees }: PreviewParts) {
  // Nothing is purged of a log that ended with a restore.
  const logFirstIndex = (await trees.forTenant(tenant).tree())?.firstIndex ?? 0;
  for (let from = Math.max(span.firstIndex, logFirstIndex); from < span.endIndex; from += EXPIRY_SPAN) {
    const portion = { firstIndex: from, endIndex: Math.min(span.endIndex, from + EXPIRY_SPAN) };
    yield* (await withoutDeletions(tenant, [portion], removal)).left;
  }
}

function untilIn(until: string | undefined, nowMs: number): number {
  if (until === undefined) return nowMs;
  const ms = Date.parse(until);
  if (ms >= nowMs) return ms;
  if (ms >= nowMs - PAST_MS_MAX) return nowMs;
  throw new AuditError(
    'INVALID_PARAMETER',
    `until is in the past: ${until} is before now, ${instant(nowMs)}.`,
    {
      details: [{ field: 'until', issue: 'must not be in the past', value: until }],
    },
  );
}
