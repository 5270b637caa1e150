// The terms that events are found by. A segment has five sections, facts and the content of each class; each has a
// dictionary of its own, in which the first letter of a term says what kind it is:
//
//   wrefund                       the word refund
//   mm ana                        (without the space) the word ana in actor.userName
//   fadelete.invoice\0Delete.Invoice   the action, folded, then as it is written; once where both are the same
//   pu                            there is an actor.userId
//   fd01K…                        a policy has decided its classification or its retention
//   t\x11                         traits: class, kind, outcome and type of actor in one number
//   ppayload\1amount              there is a payload.amount
//   vpayload\1channel\0kiosk      it has one word, and this one; not a number
//   dpayload\1amount\0…           it is a number, as four characters in the order of numbers
//   zpayload\1amount              it is null

import { hash } from 'node:crypto';
import {
  ACTOR_TYPES,
  type AuditEvent,
  type Classification,
  CLASSIFICATIONS,
  EVENT_OUTCOMES,
} from '@tallystick/contract';
import type { QueryStep } from '../../../query/field-path.ts';
import type { FactName } from '../../../query/fields.ts';
import { foldText } from '../../../query/fold.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';

/** The sections of a segment. Words of content are in that of its class, so a search reads only what its reader may see. */
export const SECTIONS = ['facts', ...CLASSIFICATIONS] as const;
export type Section = (typeof SECTIONS)[number];

/** Of a notice everything is shown to everybody. */
export function contentSectionOf({
  kind,
  classification,
}: Pick<QueriedEvent, 'kind' | 'classification'>): Classification {
  return kind === 'Notice' ? 'Public' : classification;
}

/** The facts that are compared as a whole. Those with few values are traits, and eventId is a column. */
export const FACT_LETTERS = {
  action: 'a',
  'actor.userId': 'u',
  'actor.serviceId': 's',
  'resource.resourceType': 'y',
  'resource.resourceId': 'r',
  submittedBy: 'w',
  correlationId: 'i',
  streamId: 'l',
} as const satisfies Partial<Record<FactName, string>>;
export type WholeFact = keyof typeof FACT_LETTERS;

/** Names for people, found by their words. */
export const NAME_LETTERS = {
  'actor.userName': 'm',
  'actor.serviceName': 'j',
  'resource.resourceName': 'f',
} as const satisfies Partial<Record<FactName, string>>;

/** Those that not every event has. */
export const OPTIONAL_FACTS: readonly FactName[] = ['actor.userId', 'actor.serviceId'];

/** Before the id of a policy that has decided about the event. */
export const DECIDED_BY = 'fd';

export const WORD = 'w';
export const PRESENCE = 'p';
export const TRAITS = 't';
export const NULL_AT = 'z';

/** Before the word. */
export function namePrefix(letter: string): string {
  return `m${letter}`;
}

export function factPrefix(letter: string): string {
  return `f${letter}`;
}

/** The characters that end a part of a term. */
const ENDS = ['\0', '\u0001', '\u0002'] as const;

/** Nothing in a part of a term may look like its end. */
export function escapeEnds(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) >= ENDS.length) continue;
    const escaped = Array.from(text, (each) => {
      const end = ENDS.indexOf(each as '\0');
      return end < 0 ? each : `${ENDS[2]}${end + ENDS.length}`;
    });
    return escaped.join('');
  }
  return text;
}

const SPELLED = '\0';

/** A fact as a whole, behind its prefix. */
export function factKey(text: string): string {
  const folded = foldText(text);
  const key = escapeEnds(folded);
  return folded === text ? key : key + SPELLED + escapeEnds(text);
}

/** Whether the rest of a term behind the folded text is that of a whole fact, and not of a longer one. */
export function isWholeKey(rest: string): boolean {
  return rest === '' || rest.startsWith(SPELLED);
}

/** As it is written, still escaped, from the key as a term. */
export function spellingOf(key: string): string {
  const at = key.indexOf(SPELLED);
  return at < 0 ? key : key.slice(at + 1);
}

/** The keys of a path; where a value stands in a list is left out. */
export function keysOf(path: readonly QueryStep[]): string[] {
  return path.filter((step) => typeof step === 'string');
}

const KEY_END = '\u0001';
/** Longer paths are told apart by a hash. */
const PATH_LENGTH_MAX = 200;

export function pathText(keys: readonly string[]): string {
  const text = keys.map(escapeEnds).join(KEY_END);
  if (text.length <= PATH_LENGTH_MAX) return text;
  return `${keys[0]}${KEY_END}\u0002#${hash('sha256', text, 'hex').slice(0, 32)}`;
}

/** Before the one word of a value. */
export function valuePrefix(path: string): string {
  return `v${path}\0`;
}

/** Before the place of a number. */
export function numberPrefix(path: string): string {
  return `d${path}\0`;
}

const double = new DataView(new ArrayBuffer(8));

export interface NumberPlace {
  /** Four characters that compare as numbers do. */
  readonly place: string;
  /** Only this number has the place. */
  readonly isExact: boolean;
}

/**
 * Where a number lies among all: its sign, its exponent, twelve bits of its fraction, and whether these are all there is. What
 * they do not tell apart shares a place, which is beside that of the one number that they tell whole.
 */
export function placeOf(number: number): NumberPlace {
  // Minus zero is zero.
  double.setFloat64(0, number + 0);
  const high = double.getUint32(0);
  const isNegative = high >= 0x8000_0000;
  const isExact = double.getUint32(4) === 0 && (high & 0xff) === 0;
  const bits = high >>> 8;
  const order = isNegative ? 0xff_ffff - bits : bits + 0x80_0000;
  // Below zero, what is not told whole lies further from it.
  const place = order * 2 + (isExact === isNegative ? 1 : 0);
  return {
    place: String.fromCharCode(place >>> 21, (place >>> 14) & 0x7f, (place >>> 7) & 0x7f, place & 0x7f),
    isExact,
  };
}

/** The few properties that every event has one of each, as one number. */
export interface Traits {
  readonly classification: Classification;
  readonly kind: AuditEvent['kind'];
  readonly outcome: AuditEvent['outcome'];
  readonly actorType: AuditEvent['actor']['actorType'];
}

export const KINDS = ['Event', 'Notice'] as const satisfies readonly AuditEvent['kind'][];

export function traitsNumber({ classification, kind, outcome, actorType }: Traits): number {
  const places = [
    CLASSIFICATIONS.indexOf(classification),
    KINDS.indexOf(kind),
    EVENT_OUTCOMES.indexOf(outcome),
    ACTOR_TYPES.indexOf(actorType),
  ] as const;
  if (places.some((place) => place < 0)) throw new Error('it has a property that no event has');
  return (
    ((places[0] * KINDS.length + places[1]) * EVENT_OUTCOMES.length + places[2]) * ACTOR_TYPES.length +
    places[3]
  );
}

/** By their number. */
export const ALL_TRAITS: readonly Traits[] = CLASSIFICATIONS.flatMap((classification) =>
  KINDS.flatMap((kind) =>
    EVENT_OUTCOMES.flatMap((outcome) =>
      ACTOR_TYPES.map((actorType) => ({ classification, kind, outcome, actorType })),
    ),
  ),
);

export function traitsTerm(number: number): string {
  return TRAITS + String.fromCharCode(number);
}
