// The operations on events, put together from what they need.

import type { Tenancy } from '../access/tenancy.ts';
import type { Call } from '../call.ts';
import type { Cursors } from '../paging.ts';
import type { Policies } from '../policies/policies.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LogReader } from '../streams/log.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { ValidateEnvelope } from './batch-request.ts';
import { createBatchIngest } from './batch.ts';
import type { NewIds } from './draft.ts';
import type { EventIndex } from './event-index.ts';
import { createExplain } from './explain.ts';
import { createGet } from './get.ts';
import { createIngest } from './ingest.ts';
import { createValidateEvent, type FieldRules } from './validate-event.ts';
import { createList } from './list.ts';
import { createProve, type ProveParts } from './prove.ts';
import { createSearch } from './search.ts';
import type { Published } from './show.ts';
import { createStreamPage } from './stream-page.ts';

export interface EventParts extends ProveParts {
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly log: LogReader;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly clock: Clock;
  /** Time that no jump of the wall clock moves; keys expire by it. */
  readonly steadyNowMs: () => number;
  readonly ids: NewIds;
  readonly fields: FieldRules;
  readonly validateEnvelope: ValidateEnvelope;
  readonly requireActorIdentity: boolean;
  readonly cursors: Cursors;
  readonly index: EventIndex;
  readonly policies: Pick<Policies, 'version'>;
}

/** What those need who show events that were found. */
export function readingOf(parts: EventParts) {
  return { ...parts, publishedOf: publishedOf(parts) };
}

export function createEvents(parts: EventParts) {
  const readParts = readingOf(parts);
  const ingestParts = { ...parts, validateEvent: createValidateEvent(parts) };
  return {
    'events.ingest': createIngest(ingestParts),
    'events.ingestBatch': createBatchIngest(ingestParts),
    'events.get': createGet(readParts),
    'events.explain': createExplain(readParts),
    'events.list': createList(readParts),
    'events.search': createSearch(readParts),
    'events.prove': createProve(parts),
    'streams.listEvents': createStreamPage(readParts),
  };
}

export function publishedOf({ trees, newestWitnessed }: Pick<EventParts, 'trees' | 'newestWitnessed'>) {
  return async ({ tenant }: Pick<Call, 'tenant'>, index?: number): Promise<Published> => {
    const head = tenant === undefined ? undefined : await trees.forTenant(tenant).head(index);
    if (tenant === undefined || head === undefined) {
      return { firstIndex: 0, endIndex: 0, witnessedEndIndex: 0 };
    }
    const { firstIndex, latest } = head;
    return {
      firstIndex,
      endIndex: firstIndex + (latest?.size ?? 0),
      witnessedEndIndex: firstIndex + (await newestWitnessed.sizeOf(tenant, head)),
    };
  };
}
