// Which of many rules an event matches. Most conditions are about single facts, and facts have few values: an action, a type of
// resource, an actor. So for each fact it is kept which rules a value satisfies, as bits; an event matches the rules whose bits
// are set for all of its facts. A thousand rules take hardly longer than ten. Only rules that are about context and payload
// are asked one by one, once the facts let them.

import type { Condition } from './condition.ts';
import { compileConditions, type HoldsFor } from './compile-condition.ts';
import { isContentRoot, isTextRoot } from './condition-path.ts';
import type { EventFacts } from './event-facts.ts';

/** Of one fact: a sender with a new name in each event must not fill the memory. */
const VALUES_KEPT_MAX = 4096;
/** Lists of rules that matched together; few differ. */
const SETS_KEPT_MAX = 4096;
const WORD_BITS = 32;

export class RuleSet {
  readonly #readsContent: boolean;
  readonly #facts: readonly FactBits[];
  /** By the number of a rule: its conditions about content. */
  readonly #content: readonly (HoldsFor | undefined)[];
  readonly #words: number;
  readonly #all: Uint32Array;
  readonly #matched: Uint32Array;
  readonly #sets = new Map<string, readonly number[]>();

  /** Of each rule its conditions. */
  constructor(rules: readonly (readonly Condition[])[]) {
    this.#words = Math.ceil(rules.length / WORD_BITS);
    this.#all = new Uint32Array(this.#words);
    for (const number of rules.keys()) setBit(this.#all, number);
    this.#matched = new Uint32Array(this.#words);
    this.#content = rules.map((conditions) => {
      const ofContent = conditions.filter(({ path }) => isContentRoot(path[0]));
      return ofContent.length === 0 ? undefined : compileConditions(ofContent);
    });
    this.#readsContent = this.#content.some((each) => each !== undefined);
    this.#facts = factBits(rules, this.#all);
  }

  /** The numbers of the rules that it matches, in order: the same list for the same rules. */
  matching(facts: EventFacts): readonly number[] {
    const matched = this.#matched;
    matched.set(this.#all);
    for (const fact of this.#facts) {
      const bits = fact.of(facts);
      for (let i = 0; i < matched.length; i++) matched[i]! &= bits[i]!;
    }
    if (this.#readsContent) this.#askContent(facts, matched);
    return this.#listOf(matched);
  }

  #askContent(facts: EventFacts, matched: Uint32Array): void {
    for (const [number, holdsFor] of this.#content.entries())
      if (holdsFor !== undefined && hasBit(matched, number) && !holdsFor(facts)) clearBit(matched, number);
  }

  #listOf(matched: Uint32Array): readonly number[] {
    const key = matched.length === 1 ? String(matched[0]) : matched.join();
    let list = this.#sets.get(key);
    if (list === undefined) {
      list = [...this.#content.keys()].filter((number) => hasBit(matched, number));
      if (this.#sets.size >= SETS_KEPT_MAX) this.#sets.clear();
      this.#sets.set(key, list);
    }
    return list;
  }
}

/** The conditions of one rule about one fact. */
interface FactRule {
  readonly number: number;
  readonly holdsFor: HoldsFor;
}

/** Of one fact: which rules each of its values satisfies. */
class FactBits {
  readonly #read: (facts: EventFacts) => unknown;
  /** The rules that are about it. */
  readonly #rules: readonly FactRule[];
  readonly #all: Uint32Array;
  readonly #known = new Map<unknown, Uint32Array>();

  constructor(read: (facts: EventFacts) => unknown, rules: readonly FactRule[], all: Uint32Array) {
    this.#read = read;
    this.#rules = rules;
    this.#all = all;
  }

  of(facts: EventFacts): Uint32Array {
    const value = this.#read(facts);
    return this.#known.get(value) ?? this.#judge(value, facts);
  }

  #judge(value: unknown, facts: EventFacts): Uint32Array {
    const bits = this.#all.slice();
    for (const { number, holdsFor } of this.#rules) if (!holdsFor(facts)) clearBit(bits, number);
    if (this.#known.size >= VALUES_KEPT_MAX) this.#known.clear();
    this.#known.set(value, bits);
    return bits;
  }
}

function factBits(rules: readonly (readonly Condition[])[], all: Uint32Array): FactBits[] {
  const byFact = new Map<
    string,
    { readonly path: Condition['path']; readonly of: Map<number, Condition[]> }
  >();
  for (const [number, conditions] of rules.entries()) {
    for (const condition of conditions) {
      if (isContentRoot(condition.path[0])) continue;
      const key = JSON.stringify(condition.path);
      const fact = byFact.get(key) ?? { path: condition.path, of: new Map<number, Condition[]>() };
      byFact.set(key, fact);
      fact.of.set(number, [...(fact.of.get(number) ?? []), condition]);
    }
  }
  return [...byFact.values()].map(
    ({ path, of }) =>
      new FactBits(
        readerOf(path),
        [...of].map(([number, conditions]) => ({ number, holdsFor: compileConditions(conditions) })),
        all,
      ),
  );
}

/** What all conditions at the path depend on. */
function readerOf(path: Condition['path']): (facts: EventFacts) => unknown {
  const [root, member] = path;
  if (isTextRoot(root)) return (facts) => facts[root];
  if (root !== 'actor' && root !== 'resource') throw new TypeError(`${root} is no fact`);
  // Every event has both, so conditions on the whole of one have one answer.
  if (member === undefined) return () => root;
  return (facts) => {
    const members = facts[root] as Readonly<Record<string, unknown>>;
    return typeof member === 'string' && Object.hasOwn(members, member) ? members[member] : undefined;
  };
}

function setBit(bits: Uint32Array, number: number): void {
  bits[Math.floor(number / WORD_BITS)]! |= 1 << (number % WORD_BITS);
}

function clearBit(bits: Uint32Array, number: number): void {
  bits[Math.floor(number / WORD_BITS)]! &= ~(1 << (number % WORD_BITS));
}

function hasBit(bits: Uint32Array, number: number): boolean {
  return (bits[Math.floor(number / WORD_BITS)]! & (1 << (number % WORD_BITS))) !== 0;
}
