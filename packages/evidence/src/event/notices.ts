// Notices (kinds 2 to 9): what the service records about its own acts, as events of the same log. A verifier
// looks at the entry's kind, never at the action. A notice is always wholly open, holds ids and no personal
// data, and its payload has exactly the members below. docs/formats/notices.md is the normative text.

import { EvidenceError } from '../errors.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { subtreesOf } from '../tree/tree.ts';
import { type Entry, isNotice, type Kind, KINDS } from './entry.ts';
import { isWhollyOpen, openUnits, type ShownEvent } from './shown-event.ts';
import { eventOf } from './units.ts';

type Check<T> = (value: unknown) => value is T;
type Checked<C> = C extends Check<infer T> ? T : never;
type OptionalKeys<S> = { [K in keyof S]: undefined extends Checked<S[K]> ? K : never }[keyof S];
type Payload<S> = { [K in Exclude<keyof S, OptionalKeys<S>>]: Checked<S[K]> } & {
  [K in OptionalKeys<S>]?: Exclude<Checked<S[K]>, undefined>;
};

export type NoticeKind = Exclude<Kind, typeof KINDS.event>;

const SYSTEM_ACTOR = '{"actorType":"System"}';

/** [from, to): from is inside, to is the first index outside. */
export type IndexRange = [from: number, to: number];

const ulid = matching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const hash = matching(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/);
/** Its form only; who may look into keys looks further: bundle/notice-keys.ts. */
const verifierKey = matching(/^[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2}$/);
const origin = matching(/^[^\s+]+$/);

export const NOTICE_PAYLOADS = {
  /** Units of one event were deleted for good; the tags say which. */
  [KINDS.redaction]: {
    leafIndex: index,
    eventId: ulid,
    tags: listOf(hash),
    cause: oneOf('Redaction', 'Erasure'),
  },
  /** The content of every event in the ranges was deleted; entries, group roots and tiles stay. */
  [KINDS.purge]: {
    policyId: orNull(ulid),
    policyVersion: orNull(index),
    cause: oneOf('Retention', 'KeyDestroyed'),
    ranges: listOf(range),
    count: index,
    subtrees: listOf(hash),
  },
  /** From here on checkpoints are signed by the new key; until overlapEndsAt by both. */
  [KINDS.keyRotation]: { previousKey: verifierKey, newKey: verifierKey, overlapEndsAt: instant },
  /** The commitment is C of the RFC 8785 text of the record that has changed, where one has; its salt is kept with it. */
  [KINDS.legalHold]: {
    holdId: ulid,
    act: oneOf('Placed', 'Released'),
    policyId: orNull(ulid),
    commitment: optional(hash),
  },
  /** The commitment is C of the policy's RFC 8785 text, its salt is kept with that version. */
  [KINDS.policyChange]: {
    policyId: ulid,
    policyVersion: index,
    policyType: oneOf('Classification', 'Retention', 'Access', 'Alert'),
    act: oneOf('Created', 'Updated', 'Deleted'),
    commitment: hash,
  },
  /** First entry after a restore: the log goes on under a new origin. */
  [KINDS.newEpoch]: { previousOrigin: origin, anchoredSize: index, anchoredRoot: hash, restoredSize: index },
  /** Last entry of a stream. */
  [KINDS.streamSeal]: {
    streamId: ulid,
    nextStreamId: ulid,
    firstIndex: index,
    lastIndex: index,
    cause: oneOf('Age', 'Size', 'Request'),
  },
  /** Acts in use: SecretEventsRead, ExportRequested, KeyCreated, KeyRotated, KeyRevoked, TenantChanged, and the one below. */
  [KINDS.administration]: {
    act: matching(/^[A-Za-z]{1,64}$/),
    requestId: matching(/^[\x21-\x7e]{1,128}$/),
    subjectIds: listOf(ulid),
    count: index,
    commitment: optional(hash),
  },
} as const satisfies Record<NoticeKind, Record<string, Check<unknown>>>;

/** The act of kind 9 that accepts a lost anchor. */
export const ANCHOR_LOSS_ACCEPTED = 'AnchorLossAccepted';

/** Its further members: the newest checkpoint of this log that was stored then; without any, size 0 and the empty root. */
const ANCHOR_LOSS_MEMBERS = { signedSize: index, signedRoot: hash } as const;

export type AnchorLossMembers = Payload<typeof ANCHOR_LOSS_MEMBERS>;

export type NoticePayload<K extends NoticeKind> = Payload<(typeof NOTICE_PAYLOADS)[K]> &
  (K extends typeof KINDS.administration ? Partial<AnchorLossMembers> : unknown);

export type Notice = { [K in NoticeKind]: { kind: K; index: number; payload: NoticePayload<K> } }[NoticeKind];

/** Reads a notice, or says what is wrong with it. */
export function readNotice(entry: Entry, shown: ShownEvent): Notice {
  if (!isNotice(entry.kind)) throw invalid(entry, 'is an event');
  if (!isWhollyOpen(shown)) throw invalid(entry, 'is not shown whole; notices are never withheld or deleted');
  const { actor, payload } = eventOf(openUnits(shown));
  if (canonicalJson(actor ?? null) !== SYSTEM_ACTOR) throw invalid(entry, 'is not by the actor System alone');
  const fault = payloadFault(entry.kind as NoticeKind, payload);
  if (fault !== undefined) throw invalid(entry, fault);
  const notice = { kind: entry.kind, index: entry.index, payload } as Notice;
  const contradiction = contradictionIn(notice);
  if (contradiction !== undefined) throw invalid(entry, contradiction);
  return notice;
}

/** What is wrong with a payload of that kind of notice, or undefined. */
export function payloadFault(kind: NoticeKind, payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null) return 'has no payload';
  const { act } = payload as { act?: unknown };
  // A payload of another kind is refused for that act, independently of its other members.
  const more = act === ANCHOR_LOSS_ACCEPTED ? ANCHOR_LOSS_MEMBERS : {};
  const checks: Record<string, Check<unknown>> = { ...NOTICE_PAYLOADS[kind], ...more };
  for (const [member, isValid] of Object.entries(checks)) {
    if (!isValid((payload as Record<string, unknown>)[member])) return `has no valid payload.${member}`;
  }
  const unknown = Object.keys(payload).find((member) => !Object.hasOwn(checks, member));
  return unknown === undefined ? undefined : `has the unknown member payload.${unknown.slice(0, 40)}`;
}

/** A notice speaks of what lies before it, never of itself or of what is to come. */
function contradictionIn(notice: Notice): string | undefined {
  switch (notice.kind) {
    case KINDS.redaction:
      return notice.payload.leafIndex < notice.index ? undefined : 'redacts an event that is not before it';
    case KINDS.purge:
      return purgeFault(notice.payload, notice.index);
    case KINDS.streamSeal: {
      const { firstIndex, lastIndex } = notice.payload;
      if (lastIndex !== notice.index) return `seals at index ${lastIndex}`;
      return firstIndex <= lastIndex ? undefined : 'seals a stream that ends before it begins';
    }
    case KINDS.newEpoch:
      if (notice.index !== 0) return 'begins an epoch in the middle of a log';
      return notice.payload.restoredSize <= notice.payload.anchoredSize
        ? undefined
        : 'restores more than was anchored';
    case KINDS.keyRotation: {
      const [before, after] = [notice.payload.previousKey, notice.payload.newKey].map(nameInKey);
      return before === after ? undefined : 'rotates to a key of another log';
    }
    case KINDS.administration:
      return (notice.payload.signedSize ?? 0) <= notice.index
        ? undefined
        : 'names a checkpoint that is not before it';
    case KINDS.legalHold:
    case KINDS.policyChange:
      return undefined;
  }
}

function purgeFault(purge: NoticePayload<typeof KINDS.purge>, before: number): string | undefined {
  if ((purge.policyId === null) !== (purge.policyVersion === null)) return 'names half a policy';
  let end = 0;
  let length = 0;
  let subtrees = 0;
  for (const [from, to] of purge.ranges) {
    if (from < end || to <= from || to > before)
      return `has the range [${from}, ${to}) out of order or bounds`;
    end = to;
    length += to - from;
    subtrees += subtreesOf({ begin: from, end: to }).length;
  }
  if (purge.count < 1 || purge.count > length) return `counts ${purge.count} events in ranges of ${length}`;
  if (purge.subtrees.length === subtrees) return undefined;
  return `has ${purge.subtrees.length} subtrees; its ranges are made of ${subtrees}`;
}

function nameInKey(key: string): string {
  return key.slice(0, key.indexOf('+'));
}

function invalid(entry: Entry, fault: string): EvidenceError {
  const message = `notice of kind ${entry.kind} at index ${entry.index} ${fault}`;
  return new EvidenceError('NOTICE_INVALID', message, { index: entry.index });
}

function index(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function range(value: unknown): value is IndexRange {
  return Array.isArray(value) && value.length === 2 && index(value[0]) && index(value[1]);
}

function instant(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  const ms = Date.parse(value);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === value;
}

function matching(pattern: RegExp): Check<string> {
  return (value): value is string => typeof value === 'string' && value.length <= 1024 && pattern.test(value);
}

function oneOf<const T extends string>(...allowed: readonly T[]): Check<T> {
  return (value): value is T => (allowed as readonly unknown[]).includes(value);
}

function listOf<T>(item: Check<T>): Check<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.length <= 10_000 && value.every(item);
}

function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}

function orNull<T>(check: Check<T>): Check<T | null> {
  return (value): value is T | null => value === null || check(value);
}
