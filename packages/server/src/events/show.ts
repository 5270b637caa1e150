// A stored event as a reader gets it: what was hashed, word for word, with its place in the log; without the parts that
// the reader is not cleared for. An event that differs from what was hashed is not shown in any view.

import type {
  AuditEvent,
  Classification,
  EventId,
  EventIntegrity,
  TenantId,
  Tombstone,
} from '@tallystick/contract';
import {
  CONTENT_AT,
  decodeEntry,
  type Entry,
  EVENT_ID_AT,
  eventIdText,
  EvidenceError,
  HASH_BYTES,
  isNotice,
  parseJson,
  PREVIOUS_AT,
  toHex,
} from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { type HoldJudge, holdsSeenBy } from '../holds/hold-judge.ts';
import { readDecidedBy } from '../policies/decided-by.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { contentSeen, type Sight, sightOf } from '../policies/sight.ts';
import { instant } from '../runtime/clock.ts';
import type { Altered, StoredContent, StoredEvent } from '../streams/log.ts';
import { contentIn } from './content-text.ts';
import { redactionShown } from './redacted-at-rest.ts';
import { storedFacts } from './facts.ts';
import { readWritten } from '../written-json.ts';

/** The event, or why this reader does not get it. */
export type Shown =
  /** With the holds that cover it, as this reader may know of them. */
  | {
      readonly event: AuditEvent;
      readonly holdIds: readonly string[];
      /** What of it this reader does not see, without what is deleted. */
      readonly hidden: AuditEvent['redaction'];
    }
  | { readonly withheld: 'Clearance' }
  /** The tombstone is there for readers who are cleared for the event. */
  | { readonly withheld: 'Purged'; readonly tombstone: Tombstone | undefined }
  | { readonly withheld: 'Altered'; readonly fault: string };

/** What decides how an event is shown. */
export interface Judges {
  readonly sight: Sight;
  readonly holds: HoldJudge;
}

export function judgesOf(call: Pick<Call, 'caller' | 'tenantRecord'>): Judges {
  return { sight: sightOf(call), holds: holdsSeenBy(call) };
}

export function showEvent(
  tenantId: TenantId,
  stored: StoredEvent,
  { sight, holds }: Judges,
  published: Published,
): Shown {
  const { content, classification } = stored;
  if (content !== undefined && 'fault' in content) return altered(content.fault);
  const entry = decodeEntry(stored.entry);
  if (entry.index + published.firstIndex !== stored.index) return altered(`its entry is of ${entry.index}`);
  const place = placeIn(tenantId, stored, entry);
  const { kind } = place;
  const integrity = integrityOf(stored, published);
  if (content === undefined || 'purgedAtMs' in content) {
    const { extent } = sight.judge({ kind, classification, facts: () => undefined });
    if (extent === 'Invisible') return { withheld: 'Clearance' };
    if (content === undefined) return altered(CONTENT_GONE);
    const tombstone = { ...place, purgedAt: instant(content.purgedAtMs), integrity };
    return { withheld: 'Purged', tombstone: extent === 'Whole' ? tombstone : undefined };
  }
  // Compare before deciding who may see it: an intruder must not conceal an event by raising its classification.
  const facts = readFacts(content.texts, classification);
  const rest = contentIn(content.texts[1]);
  if ('fault' in facts) return altered(facts.fault);
  if (rest === undefined) return altered('its content is not its own RFC 8785 text');
  const judged = storedFacts(facts, content.texts[1]);
  const visibility = sight.judge({ kind, classification, facts: () => judged });
  if (visibility.extent === 'Invisible') return { withheld: 'Clearance' };
  const seen = contentSeen<EventFields & Content & Pick<AuditEvent, 'redaction'>>(visibility, {
    ...facts,
    ...(visibility.withheldFields.length === 0 ? rest : parsed(rest)),
  });
  const redaction = redactionShown(seen.redaction, content.deletedPaths);
  const holdIds =
    holds.isEmpty || kind === 'Notice' ? [] : holds.holdingSeen(place.sequence, judged, seen.redaction);
  const retention = retentionOf(content, seen, holdIds.length > 0);
  const event = { ...place, ...seen, ...redaction, ...retention, integrity };
  return { event, holdIds, hidden: seen.redaction };
}

function placeIn(tenantId: TenantId, { index }: StoredEvent, { kind, eventId, receivedAtMs }: Entry) {
  return {
    eventId,
    tenantId,
    kind: isNotice(kind) ? 'Notice' : 'Event',
    sequence: index + 1,
    receivedAt: instant(receivedAtMs),
  } as const;
}

/**
 * The JSON text of what `showEvent` shows to a reader who sees the event whole, where no hold covers it: its stored texts,
 * which are not parsed. Undefined: something about it is not as usual, and `showEvent` says what.
 */
export function writtenWhole(
  tenantId: TenantId,
  stored: StoredEvent,
  published: Published,
): string | undefined {
  const { content, classification } = stored;
  if (content === undefined || !('texts' in content) || content.deletedPaths !== undefined) return undefined;
  const entry = decodeEntry(stored.entry);
  if (entry.index + published.firstIndex !== stored.index) return undefined;
  const [facts, rest] = content.texts;
  // The store gives out only objects with the members of an event, and a quote inside a string stands behind a backslash.
  if (!facts.includes(`"classification":"${classification}"`) || contentIn(rest) === undefined)
    return undefined;
  const place = JSON.stringify(placeIn(tenantId, stored, entry));
  const more = JSON.stringify({
    ...retentionOf(content, {}, false),
    integrity: integrityOf(stored, published),
  });
  const members = rest === '{}' ? '' : `,${rest.slice(1, -1)}`;
  return `${place.slice(0, -1)},${facts.slice(1, -1)}${members},${more.slice(1)}`;
}

/** Fields are withheld in values, not in texts. */
function parsed({ context, payload }: Content): Content {
  return {
    ...(context !== undefined && { context: readWritten(context) }),
    ...(payload !== undefined && { payload: readWritten(payload) }),
  };
}

/** The bare place of an event that is not shown. */
export function placeOf(
  stored: StoredEvent,
  published: Published,
): { readonly sequence: number; readonly eventId: EventId; readonly integrity: EventIntegrity } {
  const { index, entry } = stored;
  return {
    sequence: index + 1,
    eventId: eventIdText(piece(entry, EVENT_ID)),
    integrity: integrityOf(stored, published),
  };
}

/**
 * Parses the first text. The column decides who may see an event, and is not hashed; the text is, and must say the
 * same.
 */
export function readFacts([text]: StoredContent['texts'], column: Classification): EventFields | Altered {
  try {
    const facts = parseJson(text) as EventFields;
    const said = facts.classification;
    return said === column ? facts : { fault: `its column says that it is ${column}, its text says ${said}` };
  } catch (error) {
    if (error instanceof EvidenceError) return { fault: error.message };
    throw error;
  }
}

/** The facts of an event for conditions; undefined for a notice, and where the content is gone or altered. */
export function factsOf({ entry, content, classification }: StoredEvent): EventFacts | undefined {
  if (content === undefined || !('texts' in content) || isNotice(decodeEntry(entry).kind)) return undefined;
  const facts = readFacts(content.texts, classification);
  return 'fault' in facts ? undefined : storedFacts(facts, content.texts[1]);
}

/** Content is removed under a notice alone. */
export const CONTENT_GONE = 'its content is gone, and no notice says why';

/** A log of the tenant, and how far it is signed. */
export interface Published {
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  /** The first index that no checkpoint covers yet. */
  readonly endIndex: number;
  /** The first index that no checkpoint covers which enough witnesses have cosigned. */
  readonly witnessedEndIndex: number;
}

/** The members of the first text of an event. Only drafts write the texts of a log, so they have these members. */
export type EventFields = Pick<
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
/** The members of the second text. */
export type Content = Pick<AuditEvent, 'context' | 'payload'>;

// Read without regard to the rest of the entry, which may be none.
const EVENT_ID = { from: EVENT_ID_AT, to: PREVIOUS_AT };
const PREVIOUS = { from: PREVIOUS_AT, to: CONTENT_AT };

function altered(fault: string): Shown {
  return { withheld: 'Altered', fault };
}

/** Which policy has decided is not told where something is withheld: its rules may be about that. */
function retentionOf(
  { expiresAtMs, decidedBy }: StoredContent,
  { redaction }: { readonly redaction?: AuditEvent['redaction'] },
  legalHold: boolean,
): Pick<AuditEvent, 'retention'> {
  if (expiresAtMs === undefined) return {};
  const decided = readDecidedBy(decidedBy).retention.find((rule) => rule.decided);
  return {
    retention: {
      ...(decided !== undefined && redaction === undefined && { policyId: decided.policyId }),
      expiresAt: instant(expiresAtMs),
      legalHold,
    },
  };
}

/** The place that an entry claims. It does not say whether the entry is sound. */
function integrityOf(
  { index, streamId, entry, leaf }: StoredEvent,
  { firstIndex, endIndex, witnessedEndIndex }: Published,
): EventIntegrity {
  return {
    streamId,
    leafIndex: index - firstIndex,
    leafHash: toHex(piece(leaf, { from: 0, to: HASH_BYTES })),
    previousHash: toHex(piece(entry, PREVIOUS)),
    status: index >= endIndex ? 'Chained' : index < witnessedEndIndex ? 'Witnessed' : 'Checkpointed',
  };
}

/** With zeros for missing bytes. */
function piece(bytes: Uint8Array, { from, to }: { readonly from: number; readonly to: number }): Uint8Array {
  const found = new Uint8Array(to - from);
  found.set(bytes.subarray(from, to));
  return found;
}
