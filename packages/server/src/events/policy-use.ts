// Whether a policy has decided about an event that is still stored: its classification, how long it is kept, or that it is held.

import { CLASSIFICATIONS } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { EVERYTHING } from '../query/query.ts';
import { judgeOfPolicy } from '../holds/hold-judge.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import { seesEverything } from '../policies/sight.ts';
import type { Clock } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { EventIndex, Question, SortKey } from './event-index.ts';
import { factsOf } from './show.ts';
import { readSort } from './question.ts';

/** Not the sight of the caller: a policy is also in use by events that the caller may not see. */
const ALL = { visible: CLASSIFICATIONS, whole: CLASSIFICATIONS };

/** So long events are asked whether a rule holds them, the newest first. Where more are left, the answer is that one may. */
const ASKED_NS_MAX = 10_000 * 1e6;
const PORTION = 500;

export interface PolicyUseParts {
  readonly index: EventIndex;
  readonly clock: Pick<Clock, 'monotonicNs'>;
}

export async function isPolicyInUse(
  call: Call,
  policy: PolicyRecord,
  parts: PolicyUseParts,
): Promise<boolean> {
  const decided = await find(call, parts.index, { decidedBy: policy.policyId, rowsMax: 1 });
  return decided.total > 0 || holdsEvents(call, policy, parts);
}

/** The rules with `legalHold` hold whatever matches now, whenever it was accepted. */
async function holdsEvents(
  call: Call,
  policy: PolicyRecord,
  { index, clock }: PolicyUseParts,
): Promise<boolean> {
  const judge = judgeOfPolicy(policy);
  if (judge.isEmpty) return false;
  // To others the answer would tell what is in events that they do not see.
  if (!seesEverything(call)) return true;
  const pause = pausesBy(clock);
  let beyond: SortKey | undefined;
  const endNs = clock.monotonicNs() + ASKED_NS_MAX;
  while (clock.monotonicNs() <= endNs) {
    const found = await find(call, index, { beyond, rowsMax: PORTION });
    for (const { stored } of found.events) {
      const facts = factsOf(stored);
      if (facts !== undefined && judge.isHeld(stored.index + 1, facts)) return true;
      await pause();
    }
    call.deadline.throwIfPassed();
    beyond = found.events.at(-1)?.place;
    if (beyond === undefined || (found.events.length < PORTION && !found.isCut)) return false;
  }
  return true;
}

function find(
  call: Call,
  index: EventIndex,
  asked: Pick<Question, 'rowsMax'> & Partial<Pick<Question, 'decidedBy' | 'beyond'>>,
) {
  const request = {
    query: EVERYTHING,
    filters: {},
    sight: ALL,
    order: readSort(['-timestamp']),
    direction: 'Next',
    beyond: undefined,
    aggregations: [],
    isScored: false,
    ...asked,
  } as const;
  return index.forTenant(call.tenant!).find(request, call.deadline);
}
