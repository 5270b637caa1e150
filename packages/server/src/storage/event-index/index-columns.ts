// What the numbers in columns of an index mean, whatever the database.

import type { AuditEvent } from '@tallystick/contract';

/** The kind of an event is a place in this list. */
export const KINDS = ['Event', 'Notice'] as const satisfies readonly AuditEvent['kind'][];

/** What keys are of; the kind of a key is a place in this list. */
export const KEY_KINDS = ['action', 'actor', 'resourceType'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** Times in which events are counted, from the longest; the span of a count is a place in this list. */
export const SPANS = ['ever', 'month', 'day', 'hour'] as const;
export type Span = (typeof SPANS)[number];

/** What is counted; of a count it is a place in this list. The first is all of them, without a value. */
export const COUNTED = ['all', 'action', 'actor', 'resourceType', 'actorType', 'outcome'] as const;
export type Counted = (typeof COUNTED)[number];
