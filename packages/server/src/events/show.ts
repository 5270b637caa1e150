// A stored event as a reader gets it: what was hashed, word for word, with its place in the log; without what the
// reader is not cleared for. What is not what was hashed is not shown, in no view.

import type { AuditEvent, Classification, EventId, EventIntegrity, TenantId } from '@tallystick/contract';
import { decodeEntry, type Entry, isNotice, parseJson, toHex } from '@tallystick/evidence';
import { instant } from '../runtime/clock.ts';
import type { StoredContent, StoredEvent } from '../streams/log.ts';
import { viewFor, WITHHELD } from './redact.ts';

/** The event, or why this reader does not get it. */
export type Shown =
  | { readonly event: AuditEvent }
  | { readonly withheld: 'Clearance' | 'Purged' }
  | { readonly withheld: 'Altered'; readonly fault: string };

export function showEvent(
  tenantId: TenantId,
  stored: StoredEvent,
  clearance: Classification,
  published: Published,
): Shown {
  const { content, classification } = stored;
  const entry = decodeEntry(stored.entry);
  if (content !== undefined && 'fault' in content) return altered(content.fault);
  if (entry.index + published.firstIndex !== stored.index) return altered(`its entry is of ${entry.index}`);
  const view = viewFor(clearance, classification);
  if (view === 'Invisible') return { withheld: 'Clearance' };
  if (content === undefined) return { withheld: 'Purged' };
  const facts = parseJson(content.texts[0]) as Facts;
  const fault = classificationFault(facts, classification);
  if (fault !== undefined) return altered(fault);
  const event: AuditEvent = {
    eventId: entry.eventId,
    tenantId,
    kind: isNotice(entry.kind) ? 'Notice' : 'Event',
    sequence: stored.index + 1,
    receivedAt: instant(entry.receivedAtMs),
    ...facts,
    ...(view === 'Whole' ? (parseJson(content.texts[1]) as Content) : withheld()),
    ...retentionOf(content),
    integrity: integrityOf(stored, entry, published),
  };
  return { event };
}

/** The bare place of an event that is not shown. */
export function placeOf(
  stored: StoredEvent,
  published: Published,
): { readonly sequence: number; readonly eventId: EventId; readonly integrity: EventIntegrity } {
  const entry = decodeEntry(stored.entry);
  return {
    sequence: stored.index + 1,
    eventId: entry.eventId,
    integrity: integrityOf(stored, entry, published),
  };
}

/** The column decides who may see an event, and is not hashed; the text is. */
export function classificationFault(
  { classification: said }: { readonly classification?: unknown },
  column: Classification,
): string | undefined {
  return said === column ? undefined : `its column says that it is ${column}, its text says ${String(said)}`;
}

/** A log of the tenant, and how far it is signed. */
export interface Published {
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  /** The first index that no checkpoint covers yet. */
  readonly endIndex: number;
  /** The first index that no checkpoint covers which enough witnesses have cosigned. */
  readonly witnessedEndIndex: number;
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

function altered(fault: string): Shown {
  return { withheld: 'Altered', fault };
}

function withheld() {
  const { context, payload, redaction } = WITHHELD;
  return { context, payload, redaction: { fields: [...redaction.fields], reason: redaction.reason } };
}

function retentionOf({ expiresAtMs }: StoredContent): Pick<AuditEvent, 'retention'> {
  return expiresAtMs === undefined
    ? {}
    : { retention: { expiresAt: instant(expiresAtMs), legalHold: false } };
}

function integrityOf(
  { index, streamId, leaf }: StoredEvent,
  { index: leafIndex, previous }: Entry,
  { endIndex, witnessedEndIndex }: Published,
): EventIntegrity {
  return {
    streamId,
    leafIndex,
    leafHash: toHex(leaf),
    previousHash: toHex(previous),
    status: index >= endIndex ? 'Chained' : index < witnessedEndIndex ? 'Witnessed' : 'Checkpointed',
  };
}
