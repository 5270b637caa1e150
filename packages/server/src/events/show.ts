// A stored event as a reader gets it: what was hashed, word for word, with its place in the log; without what the
// reader is not cleared for.

import type { AuditEvent, Classification, EventIntegrity, TenantId } from '@tallystick/contract';
import { decodeEntry, isNotice, parseJson, toHex } from '@tallystick/evidence';
import { instant } from '../runtime/clock.ts';
import type { StoredContent, StoredEvent } from '../streams/log.ts';
import { viewFor, WITHHELD } from './redact.ts';

/** Undefined when this reader may not know that the event is there, or nothing is left of it to show. */
export function showEvent(
  tenantId: TenantId,
  stored: StoredEvent,
  clearance: Classification,
  published: Published,
): AuditEvent | undefined {
  const view = viewFor(clearance, stored.classification);
  if (view === 'Invisible' || stored.content === undefined) return undefined;
  const entry = decodeEntry(stored.entry);
  const [facts, content] = stored.content.texts;
  return {
    eventId: entry.eventId,
    tenantId,
    kind: isNotice(entry.kind) ? 'Notice' : 'Event',
    sequence: stored.index + 1,
    receivedAt: instant(entry.receivedAtMs),
    ...(parseJson(facts) as Facts),
    ...(view === 'Whole' ? (parseJson(content) as Content) : withheld()),
    ...retentionOf(stored.content),
    integrity: integrityOf(stored, published),
  };
}

/** How far a tenant's log is signed. */
export interface Published {
  /** The first index that no checkpoint covers yet. */
  readonly endIndex: number;
  /** Witnesses have cosigned the newest checkpoint. */
  readonly isWitnessed: boolean;
}

// The texts of a log are written by drafts alone, and have these members.
type Facts = Pick<
  AuditEvent,
  | 'timestamp'
  | 'correlationId'
  | 'actor'
  | 'action'
  | 'resource'
  | 'classification'
  | 'outcome'
  | 'submittedBy'
>;
type Content = Pick<AuditEvent, 'context' | 'payload'>;

function withheld() {
  const { context, payload, redaction } = WITHHELD;
  return { context, payload, redaction: { fields: [...redaction.fields], reason: redaction.reason } };
}

function retentionOf({ expiresAtMs }: StoredContent): Pick<AuditEvent, 'retention'> {
  return expiresAtMs === undefined
    ? {}
    : { retention: { expiresAt: instant(expiresAtMs), legalHold: false } };
}

export function integrityOf(
  { index, entry, streamId, leaf }: StoredEvent,
  published: Published,
): EventIntegrity {
  const { index: leafIndex, previous } = decodeEntry(entry);
  return {
    streamId,
    leafIndex,
    leafHash: toHex(leaf),
    previousHash: toHex(previous),
    status: index >= published.endIndex ? 'Chained' : published.isWitnessed ? 'Witnessed' : 'Checkpointed',
  };
}
