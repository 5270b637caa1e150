// The compiled rights of one reader: every operation that shows events asks it, and compares no classification by itself.
// Depending on the reader's clearance and the event's classification, the reader sees all of an event; its facts without
// context and payload; or, of a secret event, nothing, not even that it exists.

import { type AuditEvent, type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import type { Call } from '../call.ts';
import type { EventFacts } from './event-facts.ts';

export interface Sight {
  readonly index: IndexSight;
  /** Exact, of one event. */
  readonly judge: (event: SeenEvent) => Visibility;
}

/**
 * The part of a sight that an index makes its plan of: it finds the facts of the classes `visible`, and the content of those that are
 * `whole`. Data alone, since it goes to threads.
 */
export interface IndexSight {
  readonly visible: readonly Classification[];
  readonly whole: readonly Classification[];
}

/** The facts that a reader's right to see an event may depend on. */
export interface SeenEvent {
  readonly kind: AuditEvent['kind'];
  readonly classification: Classification;
  /** Read for a rule that is about them. Undefined once the content is removed. */
  readonly facts: () => EventFacts | undefined;
}

export interface Visibility {
  readonly extent: 'Whole' | 'Withheld' | 'Invisible';
  /** Single fields that are withheld. No rule names any yet, so `contentSeen` and the proofs leave none out. */
  readonly hiddenFields: readonly [];
}

const WHOLE: Visibility = { extent: 'Whole', hiddenFields: [] };
const WITHHELD: Visibility = { extent: 'Withheld', hiddenFields: [] };
const INVISIBLE: Visibility = { extent: 'Invisible', hiddenFields: [] };

export function isAtLeast(classification: Classification, other: Classification): boolean {
  return CLASSIFICATIONS.indexOf(classification) >= CLASSIFICATIONS.indexOf(other);
}

/** Compiled once for each clearance: nothing else decides yet. */
const SIGHTS = new Map(CLASSIFICATIONS.map((clearance) => [clearance, sightBy(indexSightOf(clearance))]));
const NOTHING = sightBy({ visible: [], whole: [] });

/** If the tenant was unknown when the call came, its reader sees nothing, though it may have events by now. */
export function sightOf({ caller, tenantRecord }: Pick<Call, 'caller' | 'tenantRecord'>): Sight {
  return caller === undefined || tenantRecord === undefined ? NOTHING : SIGHTS.get(caller.clearance)!;
}

/** For an index, which has no more of a sight than its own part. */
export function judgeBy({ visible, whole }: IndexSight, { kind, classification }: SeenEvent): Visibility {
  // Notices are shown whole to everybody: a proof of a part would not hold.
  if (kind === 'Notice' || whole.includes(classification)) return WHOLE;
  return visible.includes(classification) ? WITHHELD : INVISIBLE;
}

function sightBy(index: IndexSight): Sight {
  return { index, judge: (event) => judgeBy(index, event) };
}

function indexSightOf(clearance: Classification): IndexSight {
  const knowsSecrets = isAtLeast(clearance, 'Confidential');
  return {
    visible: CLASSIFICATIONS.filter((each) => knowsSecrets || each !== 'Secret'),
    whole: CLASSIFICATIONS.filter((each) => isAtLeast(clearance, each)),
  };
}

/** Whether it is recorded in the log that somebody has seen it. */
export function isReadNoted({ classification }: Pick<AuditEvent, 'classification'>): boolean {
  return classification === 'Secret';
}

/** Stands in place of a single redacted value. */
export const REDACTED = '[REDACTED]';

type Content = Pick<AuditEvent, 'context' | 'payload' | 'redaction'>;

/** The content as such a reader gets it. */
export function contentSeen({ extent }: Visibility, content: Content): Content {
  return extent === 'Whole' ? content : withheldContent();
}

/**
 * Stands in place of withheld content. It always has both members: whether there is a payload is withheld with it.
 */
export function withheldContent(): Required<Content> {
  return {
    context: {},
    payload: {},
    redaction: { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' },
  };
}
