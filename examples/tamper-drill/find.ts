// Verifies a store with ever more at hand: the database alone, then the anchor beside it, then the key that an auditor
// kept, then the checkpoint. The first of them that gives a tampering away is what "found by" means.

import { checkStore, type StoreFault } from '@tallystick/server';
import { join } from 'node:path';
import type { AuditorsCopy } from './make-trail.ts';
import { type Finder, FINDERS } from './tamperings.ts';

export interface Finding {
  readonly by: Finder;
  readonly reason: StoreFault['reason'] | undefined;
  /** What was said at each step, up to the first fault. */
  readonly steps: readonly { readonly by: Finder; readonly said: string }[];
}

export async function find(directory: string, { key, checkpoint }: AuditorsCopy): Promise<Finding> {
  const steps: { by: Finder; said: string }[] = [];
  for (const by of FINDERS) {
    const isAlone = by === 'the database';
    const { faults } = await checkStore(directory, {
      keys: by === "the auditor's key" || by === "the auditor's checkpoint" ? [key] : [],
      seen: by === "the auditor's checkpoint" ? [checkpoint] : [],
      anchor: isAlone ? join(directory, 'no-anchor-here') : undefined,
    });
    // Without an anchor the verifier says that a rollback could not be told. That is not a finding, but the reason to have one.
    const [fault] = faults.filter(({ reason }) => !(isAlone && reason === 'HISTORY_UNPROVEN'));
    if (fault === undefined) {
      steps.push({ by, said: 'nothing is found' });
      continue;
    }
    const { tenant = 'the store', index, reason, message } = fault;
    const place = index === undefined ? '' : ` at index ${index}`;
    steps.push({
      by,
      said: `FOUND: ${tenant}, ${reason}${place}: ${message.replaceAll(directory, '…')}`,
    });
    return { by, reason, steps };
  }
  return { by: 'nobody', reason: undefined, steps };
}
