// Paths of conditions, as they are written:
//
//   path  = [ "$" ( "." | before "[" ) ] step { "." key | index }
//   step  = key | index
//   key   = characters other than . [ ]      not * alone
//         | '"' text '"'                     for any other key, with \ before " and \
//   index = "[" number "]" | "[*]" | "['" text "']" | '["' text '"]'
//
// `payload.lines[0].sku`, `$.payload.lines[*].sku`, `payload."a.b"`, `payload['a.b']`. A key leads to a member of an
// object, never to an element of a list, and a number only to an element. `$` is for the beginning of the whole path:
// below another key it is a key like any other.

import type { QueryStep } from '../query/field-path.ts';

/** Outside of content: a text each. */
const TEXT_ROOTS = ['action', 'classification', 'outcome', 'correlationId'] as const;
/** Outside of content: objects whose members are texts. */
const FACT_ROOTS = ['actor', 'resource'] as const;
const CONTENT_ROOTS = ['context', 'payload'] as const;

export type TextRoot = (typeof TEXT_ROOTS)[number];
export type FactRoot = (typeof FACT_ROOTS)[number];
export type ContentRoot = (typeof CONTENT_ROOTS)[number];
export type ConditionRoot = TextRoot | FactRoot | ContentRoot;

export const CONDITION_ROOTS: readonly ConditionRoot[] = [...TEXT_ROOTS, ...FACT_ROOTS, ...CONTENT_ROOTS];

/** From the event down; null is any element. */
export type ConditionPath = readonly [root: ConditionRoot, ...below: QueryStep[]];

export function isConditionRoot(step: unknown): step is ConditionRoot {
  return CONDITION_ROOTS.some((root) => root === step);
}

export function isTextRoot(root: ConditionRoot): root is TextRoot {
  return TEXT_ROOTS.some((each) => each === root);
}

export function isContentRoot(root: ConditionRoot): root is ContentRoot {
  return CONTENT_ROOTS.some((each) => each === root);
}

/** The steps of a path, or of the rest of one below another; a text says what is wrong with it. */
export function readSteps(written: string, isWhole: boolean): QueryStep[] | string {
  try {
    return new PathReader(written).read(isWhole);
  } catch (error) {
    if (error instanceof PathFault) return error.message;
    throw error;
  }
}

class PathFault extends Error {}

const INDEX = /^(?:0|[1-9]\d{0,14})$/;

class PathReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(isWhole: boolean): QueryStep[] {
    if (isWhole && /^\$[.[]/.test(this.#text)) this.#at = this.#text[1] === '.' ? 2 : 1;
    const steps = [this.#sees('[') ? this.#readBracket() : this.#readKey()];
    while (this.#at < this.#text.length) {
      if (this.#sees('[')) steps.push(this.#readBracket());
      else if (this.#take('.')) steps.push(this.#readKey());
      else throw new PathFault('there must be a dot or a bracket behind a closing quote or bracket');
    }
    return steps;
  }

  #readKey(): string {
    if (this.#sees('"')) return this.#readQuoted();
    const end = this.#next(/[.[\]]/g);
    const key = this.#text.slice(this.#at, end);
    if (key === '') throw new PathFault('a key is empty');
    if (key === '*') throw new PathFault('* is no key; [*] is any element of a list');
    if (this.#text[end] === ']') throw new PathFault('a bracket is closed that was not opened');
    this.#at = end;
    return key;
  }

  #readBracket(): QueryStep {
    this.#take('[');
    if (this.#sees('"') || this.#sees("'")) {
      const key = this.#readQuoted();
      if (!this.#take(']')) throw new PathFault('a bracket is not closed');
      return key;
    }
    const end = this.#next(/\]/g);
    const index = this.#text.slice(this.#at, end);
    if (end === this.#text.length) throw new PathFault('a bracket is not closed');
    if (index !== '*' && !INDEX.test(index))
      throw new PathFault('between brackets stands a number, * or a key in quotes');
    this.#at = end + 1;
    return index === '*' ? null : Number(index);
  }

  #readQuoted(): string {
    const quote = this.#text[this.#at++]!;
    let key = '';
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at++]!;
      if (sign === quote) return key;
      key += sign === '\\' ? (this.#text[this.#at++] ?? '') : sign;
    }
    throw new PathFault('a quote is not closed');
  }

  #sees(sign: string): boolean {
    return this.#text[this.#at] === sign;
  }

  #take(sign: string): boolean {
    const isThere = this.#sees(sign);
    if (isThere) this.#at++;
    return isThere;
  }

  /** Where one of these signs stands next; the end, where none does. */
  #next(signs: RegExp): number {
    signs.lastIndex = this.#at;
    return signs.exec(this.#text)?.index ?? this.#text.length;
  }
}
