// Rows of log and index of the events for reading, made beforehand: what is written by nobody who has anything else to do
// (raw-inserts.ts, raw-inserts-postgres.ts).

import { hash } from 'node:crypto';
import { ENTRY_BYTES } from '@tallystick/evidence';
import { documentOf } from '../packages/server/src/storage/event-index/document.ts';
import { ViewTerms } from '../packages/server/src/storage/event-index/terms.ts';
import { readingEvent } from './reading-event.ts';

export type Made = ReturnType<typeof madeRow>;

const PREVIOUS_AT = 52;
const TERMS = new ViewTerms(1, new Uint8Array(32));
export const TERMS_PREFIX = TERMS.prefix;

export function madeRow(i: number) {
  const { context, payload, ...facts } = readingEvent(i);
  const event = {
    ...readingEvent(i),
    actor: { ...facts.actor, actorType: 'User' as const },
    classification: facts.classification!,
    outcome: 'Success' as const,
    eventId: `01KE${String(i).padStart(22, '0')}`,
    tenantId: 'reading',
    kind: 'Event' as const,
    sequence: i + 1,
    receivedAt: facts.timestamp,
    correlationId: `7d3f0c52-6a3e-4b51-9a0e-${String(i).padStart(12, '0')}`,
    submittedBy: 'key:01KE0000000000000000000001',
    integrity: { streamId: '01KE00000000000000000000S1' },
  };
  return {
    event,
    document: documentOf(event, TERMS),
    texts: [Buffer.from(JSON.stringify(facts)), Buffer.from(JSON.stringify({ context, payload }))] as const,
    entry: entryOf(i),
    hash: Buffer.alloc(32, i),
  };
}

/** The id of the event in order, and the leaf before in none, as they are. */
function entryOf(i: number): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES, String(i).padStart(8, '0'));
  entry.set(hash('sha256', String(i), 'buffer'), PREVIOUS_AT);
  return entry;
}
