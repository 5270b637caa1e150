// Which of many rules an event matches. Many rules ask about the same paths, and most of those have few values: an action, a
// type of resource, a currency. So what stands at a path is read once for all rules, and it is kept which rules a value
// satisfies, as bits; an event matches the rules whose bits are set at all paths. A thousand rules take hardly longer than
// ten. Paths into context and payload come last, and only while a rule is left that asks about them.

import type { Condition } from './condition.ts';
import { allOf, costOf, readerOf, readTest } from './compile-condition.ts';
import type { EventFacts } from './event-facts.ts';

/** Of all paths together: a sender with a new name in each event must not fill the memory. */
const VALUES_KEPT_MAX = 16_384;
/** The kept values of a path are forgotten when so many times as many have found no room. */
const UNKEPT_FOR_ONE = 8;
/** Longer texts are seldom the same, and many of them would fill the memory. */
const KEPT_LENGTH_MAX = 256;
/** Lists of rules that matched together; few differ. */
const LISTS_KEPT_MAX = 4096;
/** Of a number, the bits that count the words, and those that count within one. */
const WORD_SHIFT = 5;
const WORD_BITS = 1 << WORD_SHIFT;

export class RuleSet {
  readonly #paths: readonly PathRules[];
  readonly #count: number;
  readonly #all: Int32Array;
  readonly #matched: Int32Array;
  #lists = new Lists();
  #kept = 0;

  /** Of each rule its conditions. */
  constructor(rules: readonly (readonly Condition[])[]) {
    this.#count = rules.length;
    this.#all = new Int32Array(Math.ceil(rules.length / WORD_BITS));
    for (const number of rules.keys()) setBit(this.#all, number);
    this.#matched = new Int32Array(this.#all.length);
    this.#paths = pathRules(rules, this.#all);
  }

  /** The numbers of the rules that it matches, in order: the same list for the same rules. */
  matching(facts: EventFacts): readonly number[] {
    const matched = this.#matched;
    matched.set(this.#all);
    for (const path of this.#paths) path.narrow(matched, facts);
    return this.#listOf(matched);
  }

  #listOf(matched: Int32Array): readonly number[] {
    let at = this.#lists;
    for (let i = 0; i < matched.length; i++) at = at.behind(matched[i]!);
    return (at.list ??= this.#newList(matched));
  }

  #newList(matched: Int32Array): readonly number[] {
    if (++this.#kept > LISTS_KEPT_MAX) {
      this.#lists = new Lists();
      this.#kept = 0;
    }
    return Array.from({ length: this.#count }, (_, number) => number).filter((rule) => hasBit(matched, rule));
  }
}

/** Lists of rules, found by one word of their bits after the other. */
class Lists {
  list: readonly number[] | undefined;
  readonly #next = new Map<number, Lists>();

  behind(word: number): Lists {
    let next = this.#next.get(word);
    if (next === undefined) this.#next.set(word, (next = new Lists()));
    return next;
  }
}

/** What one rule asks of one path. */
interface Asked {
  readonly rule: number;
  readonly holds: (read: unknown) => boolean;
}

/** The rules that ask about one path, and which of them each of its values satisfies. */
class PathRules {
  readonly #read: (facts: EventFacts) => unknown;
  readonly #asked: readonly Asked[];
  readonly #keptMax: number;
  readonly #all: Int32Array;
  /** The rules that ask. */
  readonly #asking: Int32Array;
  readonly #known = new Map<unknown, Int32Array>();
  /** How many values have found no room. */
  #unkept = 0;

  constructor(path: Condition['path'], asked: readonly Asked[], all: Int32Array, keptMax: number) {
    this.#read = readerOf(path);
    this.#asked = asked;
    this.#keptMax = keptMax;
    this.#all = all;
    this.#asking = new Int32Array(all.length);
    for (const { rule } of asked) setBit(this.#asking, rule);
  }

  /** Leaves those in `matched` that the event satisfies here. */
  narrow(matched: Int32Array, facts: EventFacts): void {
    if (!overlap(matched, this.#asking)) return;
    const read = this.#read(facts);
    const known = canBeKept(read) ? (this.#known.get(read) ?? this.#keep(read)) : undefined;
    if (known === undefined) this.#clearFailed(matched, read);
    else keepOnly(matched, known);
  }

  /** Undefined while there is no room. Where each event has another value, to keep it would cost more than to judge it. */
  #keep(read: unknown): Int32Array | undefined {
    if (this.#known.size >= this.#keptMax) {
      if (++this.#unkept < UNKEPT_FOR_ONE * this.#keptMax) return undefined;
      this.#known.clear();
      this.#unkept = 0;
    }
    const bits = this.#all.slice();
    this.#clearFailed(bits, read);
    this.#known.set(read, bits);
    return bits;
  }

  #clearFailed(bits: Int32Array, read: unknown): void {
    for (const { rule, holds } of this.#asked) if (hasBit(bits, rule) && !holds(read)) clearBit(bits, rule);
  }
}

/** Facts first, and detectors last. */
function pathRules(rules: readonly (readonly Condition[])[], all: Int32Array): PathRules[] {
  const conditions = rules.flatMap((of, rule) => of.map((condition) => ({ rule, condition })));
  const byPath = Map.groupBy(conditions, ({ condition: { path } }) => JSON.stringify(path));
  const highestCost = (of: typeof conditions) => Math.max(...of.map(({ condition }) => costOf(condition)));
  return [...byPath.values()]
    .toSorted((a, b) => highestCost(a) - highestCost(b))
    .map((of) => {
      const asked = [...Map.groupBy(of, ({ rule }) => rule)].map(([rule, those]) => ({
        rule,
        holds: allOf(those.map(({ condition }) => readTest(condition))),
      }));
      return new PathRules(of[0]!.condition.path, asked, all, Math.floor(VALUES_KEPT_MAX / byPath.size));
    });
}

function canBeKept(read: unknown): boolean {
  return typeof read === 'string'
    ? read.length <= KEPT_LENGTH_MAX
    : typeof read !== 'object' || read === null;
}

function overlap(a: Int32Array, b: Int32Array): boolean {
  for (let i = 0; i < a.length; i++) if ((a[i]! & b[i]!) !== 0) return true;
  return false;
}

function keepOnly(bits: Int32Array, those: Int32Array): void {
  for (let i = 0; i < bits.length; i++) bits[i]! &= those[i]!;
}

function setBit(bits: Int32Array, number: number): void {
  bits[number >> WORD_SHIFT]! |= 1 << (number & (WORD_BITS - 1));
}

function clearBit(bits: Int32Array, number: number): void {
  bits[number >> WORD_SHIFT]! &= ~(1 << (number & (WORD_BITS - 1)));
}

function hasBit(bits: Int32Array, number: number): boolean {
  return (bits[number >> WORD_SHIFT]! & (1 << (number & (WORD_BITS - 1)))) !== 0;
}
