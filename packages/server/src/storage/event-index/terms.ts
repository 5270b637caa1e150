// The terms that events are found by, as `words` holds them: texts of letters, digits and `_`, each with the number of
// its view in front, so that no view has a term in common with another. A facet is a value as a whole, by the letter of
// its fact; `_` before a letter makes it a capital, before two digits (hexadecimal) it is any other character.
//
//   3f_refund                     the word refund, in the view 3f
//   3f__a_delete_2e_invoice       the action Delete.Invoice
//   3f__m_ana                     the word ana in actor.userName
//   3f__hci4k                     an hour
//   3f__ppayload__amount          there is a payload.amount
//   3f__npayload__amount__p074    and it is a number from 1024 to before 2048, in __p0748 and in __p07481 more exactly
//   3f_k7ac2f0e81b9d4c35a60f      any of these, of content that is Confidential or Secret: an HMAC of it

import { hash } from 'node:crypto';
import type { Classification } from '@tallystick/contract';
import { HmacSha256, toHex } from '@tallystick/evidence';
import type { QueryStep } from '../../query/field-path.ts';
import type { FactName, TimeName } from '../../query/fields.ts';
import { DAY_HOURS, dayOf, monthOf, type WholeSpan } from './time-span.ts';

/** The facts that are found as a whole: `exact` as they are written, `folded` without regard to capitals and marks. */
export const FACT_LETTERS: Readonly<Partial<Record<FactName, FactLetters>>> = {
  action: { exact: 'a', folded: 'b' },
  'actor.userId': { exact: 'u', folded: 'v' },
  'actor.serviceId': { exact: 's', folded: 't' },
  'resource.resourceType': { exact: 'y', folded: 'z' },
  'resource.resourceId': { exact: 'r', folded: 'q' },
  submittedBy: { folded: 'w' },
  correlationId: { folded: 'i' },
  // Of these there is one way to write each.
  'actor.actorType': { exact: 'g' },
  classification: { exact: 'c' },
  outcome: { exact: 'o' },
  kind: { exact: 'k' },
  eventId: { ulid: 'e' },
  streamId: { ulid: 'l' },
};

export interface FactLetters {
  readonly exact?: string;
  readonly folded?: string;
  /** Always in capitals; here without, because each of these would take two characters. */
  readonly ulid?: string;
}

/** Those that not every event has: each has a term of its own that says whether it is there. */
export const OPTIONAL_FACTS: readonly FactName[] = ['actor.userId', 'actor.serviceId'];

/** Names for people, found by their words within the one or the other. */
export const NAME_LETTERS: ReadonlyMap<string, string> = new Map<FactName, string>([
  ['actor.userName', 'm'],
  ['actor.serviceName', 'j'],
  ['resource.resourceName', 'f'],
]);

/** Stands between values of facts, so that no phrase reaches from one into the next. */
export const GAP = '_';

/** Every doc has it. */
export const EVERY = '_x';

export function factTerm(letter: string, text: string): string {
  return `_${letter}${escaped(text)}`;
}

/** Of a word in a name. A word is made of what needs no escape. */
export function nameTerm(letter: string, word: string): string {
  return `_${letter}_${word}`;
}

/** That the fact is there at all. */
export function presenceTerm(letter: string): string {
  return `_0${letter}`;
}

/** Before the year 0. */
const HOURS_ZERO = 20_000_000;

/** The letters of the hour, the day and the month of each time that an event has. */
const TIME_LETTERS = {
  timestamp: { hour: 'h', day: 'd', month: '1' },
  receivedAt: { hour: '2', day: '3', month: '4' },
} as const satisfies Record<TimeName, Record<'hour' | 'day' | 'month', string>>;

function hourTerm(time: TimeName, hour: number): string {
  return `_${TIME_LETTERS[time].hour}${(hour + HOURS_ZERO).toString(36)}`;
}

function dayTerm(time: TimeName, day: number): string {
  return `_${TIME_LETTERS[time].day}${(day * DAY_HOURS + HOURS_ZERO).toString(36)}`;
}

/** `month` counts from the year 0. */
function monthTerm(time: TimeName, month: number): string {
  return `_${TIME_LETTERS[time].month}${month.toString(36)}`;
}

/** Of the hour itself, its day and its month. */
export function timeTerms(time: TimeName, hour: number): string[] {
  return [hourTerm(time, hour), dayTerm(time, dayOf(hour)), monthTerm(time, monthOf(hour))];
}

const SPAN_TERMS = { month: monthTerm, day: dayTerm, hour: hourTerm } as const;

export function spanTerm(name: TimeName, { span, time }: WholeSpan): string {
  return SPAN_TERMS[span](name, time);
}

/** The keys of a path; where a value stands in a list is left out. */
export function keysOf(path: readonly QueryStep[]): string[] {
  return path.filter((step) => typeof step === 'string');
}

/** That there is a value at the end of these keys. */
export function pathTerm(keys: readonly string[]): string {
  return `_p${pathText(keys)}`;
}

/** A number has a term for its power of two, one for the sixteenth of it in which it lies, and one for that one's. */
export function numberTerm(keys: readonly string[], place: string): string {
  return `_n${pathText(keys)}__${place}`;
}

/** Longer paths are told apart by a hash. */
const PATH_LENGTH_MAX = 200;

/** No escaped key has `__` in it. */
function pathText(keys: readonly string[]): string {
  let text = escaped(keys[0]!);
  for (let i = 1; i < keys.length; i++) text += `__${escaped(keys[i]!)}`;
  return text.length <= PATH_LENGTH_MAX ? text : `_7f${hash('sha256', text, 'hex').slice(0, 32)}`;
}

/** How each ASCII character is written. */
const ESCAPED = Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z0-9]/.test(character)) return character;
  return /[A-Z]/.test(character) ? `_${character.toLowerCase()}` : `_${code.toString(16).padStart(2, '0')}`;
});

/** A text in which nothing ends a term, and which begins as any beginning of it does. */
export function escaped(text: string): string {
  let out = '';
  let plainFrom = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= ESCAPED.length || ESCAPED[code]!.length === 1) continue;
    out += text.slice(plainFrom, i) + ESCAPED[code];
    plainFrom = i + 1;
  }
  return plainFrom === 0 ? text : out + text.slice(plainFrom);
}

export type KeyedClass = 'Confidential' | 'Secret';

/** Undefined where content of this class stands in the index as it is. */
export function keyedClass(classification: Classification): KeyedClass | undefined {
  return classification === 'Confidential' || classification === 'Secret' ? classification : undefined;
}

/** What the terms of all views may remember together, in characters and what it takes to keep them. */
const REMEMBERED_MAX = 64 * 1024 * 1024;
const VIEW_TAKES = 1500;
const TERM_TAKES = 100;
/** Of a term's HMAC: so many that no two terms of a tenant have the same. */
const KEYED_BYTES = 10;

/** Terms are remembered, because the same words come again and again: those of all views in one memory, which has an end. */
export class TermMemory {
  #taken = 0;

  /** If full, all views that share it must forget their terms. */
  get isFull(): boolean {
    return this.#taken > REMEMBERED_MAX;
  }

  takeView(): void {
    this.#taken += VIEW_TAKES;
  }

  take(name: string, term: string): void {
    this.#taken += TERM_TAKES + name.length + term.length;
  }
}

/** The terms of one view, in the form in which `words` holds them. */
export class ViewTerms {
  /** What every term in the clear begins with. */
  readonly prefix: string;
  readonly #secret: Uint8Array;
  readonly #keys = new Map<KeyedClass, HmacSha256>();
  readonly #remembered = new Map<KeyedClass, Map<string, string>>();

  readonly #memory: TermMemory;

  /** `secret` is the tenant's own; a key for each class is made from it. */
  constructor(view: number, secret: Uint8Array, memory = new TermMemory()) {
    this.prefix = `${view.toString(36)}_`;
    this.#secret = secret;
    this.#memory = memory;
    memory.takeView();
  }

  open(term: string): string {
    return this.prefix + term;
  }

  /** Of content that must not stand in an index in the clear. */
  keyed(classification: KeyedClass, term: string): string {
    let remembered = this.#remembered.get(classification);
    if (remembered === undefined) this.#remembered.set(classification, (remembered = new Map()));
    const known = remembered.get(term);
    if (known !== undefined) return known;
    const mac = this.#keyOf(classification).ofText(term);
    const keyed = `${this.prefix}k${toHex(mac.subarray(0, KEYED_BYTES))}`;
    remembered.set(term, keyed);
    this.#memory.take(term, keyed);
    return keyed;
  }

  #keyOf(classification: KeyedClass): HmacSha256 {
    let key = this.#keys.get(classification);
    if (key === undefined) {
      key = new HmacSha256(new HmacSha256(this.#secret).ofText(`index of ${classification}`));
      this.#keys.set(classification, key);
    }
    return key;
  }
}
