// A writer with its own cached heads, and requests without lookups.

import type { TenantId } from '@tallystick/contract';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { AppendRequest, LogWriter } from '../../../streams/log.ts';
import { draftOf } from '../../event-index/testing/plain-definition.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import type { Database } from '../connection/database.ts';
import { NOW_MS } from '../../event-index/testing/open-index.ts';
import { writesHere } from '../log/log.ts';

export const NOW = { nowMs: NOW_MS, steadyNowMs: 0 };

const random = createSystemRandom();
const nextId = createUlids(systemClock, random);
export const committer = new PoolCommitter(random);

/** Its stream options. */
export const WRITING = {
  committer,
  logOrigin: 'index.test',
  streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
  clock: systemClock,
  random,
  nextId,
} as const;

export function newWriter(writing: Database): LogWriter {
  return writesHere({ writing, ...WRITING });
}

/** With ids that are made here. */
export function requestOf(tenant: TenantId, count = 1): AppendRequest {
  const drafts = Array.from({ length: count }, () => {
    const { eventId: _, ...said } = shownEvent();
    return draftOf(said, nextId);
  });
  return { tenant, drafts, atomic: true };
}
