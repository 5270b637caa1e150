// The operations on events, put together from what they need.

import type { Tenancy } from '../access/tenancy.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LogReader } from '../streams/log.ts';
import type { Sequencer } from '../streams/sequencer.ts';
import type { ValidateEnvelope } from './batch-request.ts';
import { createBatchIngest } from './batch.ts';
import type { NewIds } from './draft.ts';
import { createGet } from './get.ts';
import { createIngest } from './ingest.ts';
import { createJudge, type FieldRules } from './judge.ts';

export interface EventParts {
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly log: LogReader;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly clock: Clock;
  /** Time that no jump of the wall clock moves: what keys expire by. */
  readonly steadyNowMs: () => number;
  readonly ids: NewIds;
  readonly fields: FieldRules;
  readonly validateEnvelope: ValidateEnvelope;
  readonly requireActorIdentity: boolean;
}

export function createEvents(parts: EventParts) {
  const ingestParts = { ...parts, judge: createJudge(parts) };
  return {
    'events.ingest': createIngest(ingestParts),
    'events.ingestBatch': createBatchIngest(ingestParts),
    'events.get': createGet(parts),
  };
}
