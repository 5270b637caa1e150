// Whether a policy has decided about an event that is still stored: its classification, or how long it is kept.

import { CLASSIFICATIONS, type PolicyId } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { EVERYTHING } from '../query/query.ts';
import type { EventIndex } from './event-index.ts';
import { readSort } from './question.ts';

/** Not the sight of the caller: a policy is also in use by events that the caller may not see. */
const ALL = { visible: CLASSIFICATIONS, whole: CLASSIFICATIONS };

export async function isPolicyInUse(call: Call, policyId: PolicyId, index: EventIndex): Promise<boolean> {
  const { total } = await index.forTenant(call.tenant!).find(
    {
      query: EVERYTHING,
      filters: {},
      sight: ALL,
      decidedBy: policyId,
      order: readSort(['-timestamp']),
      direction: 'Next',
      beyond: undefined,
      rowsMax: 1,
      aggregations: [],
      isScored: false,
    },
    call.deadline,
  );
  return total > 0;
}
