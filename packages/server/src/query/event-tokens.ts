// The values of an event that are searched, in this order: action, actor, resource, context, payload; members and
// elements as they stand. Keys are not searched, nor values that this reader does not see. The limits of the search by
// words are here, and only here: the first 10,000 tokens of an event, 255 of the same.

import { type AuditEvent, LIMITS } from '@tallystick/contract';
import { REDACTED } from '../policies/sight.ts';
import type { PathStep } from './field-path.ts';
import { eachToken } from './tokens.ts';

export const EVENT_TOKENS_MAX = LIMITS.searchedWordsMax;
export const SAME_TOKENS_MAX = LIMITS.searchedSameWordsMax;

export type SearchedEvent = Pick<
  AuditEvent,
  'action' | 'actor' | 'resource' | 'context' | 'payload' | 'redaction'
>;

export interface TokenVisitor {
  /** A value begins: text, number, boolean, null, list or object. The path is good for this call only. */
  value(path: readonly PathStep[], value: unknown): void;
  /** A token of the value that began last. `place` counts the value's tokens from 0; one over a limit leaves a gap. */
  token(token: string, place: number): void;
}

/** Whether that was all of them: false where a limit left some out. */
export function eventTokens(event: SearchedEvent, visitor: TokenVisitor): boolean {
  const limits = new TokenLimits();
  eachValue(event, (path, value) => {
    visitor.value(path, value);
    const text = textOf(value);
    if (text === undefined) return;
    let place = 0;
    eachToken(text, (token) => {
      if (limits.allow(token)) visitor.token(token, place);
      place++;
      return limits.goesOn;
    });
  });
  return limits.isUntouched;
}

/** A value as text in which words are looked for; undefined for null, lists and objects. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/**
 * Whether the value at this path is withheld from this reader of the event: then it is as if it were not there. A text that
 * only reads like a withheld one is a text.
 */
export function isRedacted(
  { redaction }: Pick<AuditEvent, 'redaction'>,
  value: unknown,
  path: () => string,
): boolean {
  return value === REDACTED && redaction !== undefined && redaction.fields.includes(path());
}

type VisitValue = (path: readonly PathStep[], value: unknown) => void;

function eachValue(event: SearchedEvent, visit: VisitValue): void {
  for (const member of ['action', 'actor', 'resource', 'context', 'payload'] as const) {
    // A member that is withheld as a whole is named as a whole, and `{}` stands in its place.
    const isWithheld = event.redaction?.fields.includes(member) ?? false;
    if (event[member] !== undefined && !isWithheld) eachBelow(event, [member], event[member], visit);
  }
}

// An event is nested at most 32 levels deep: the log accepts no other.
function eachBelow(event: SearchedEvent, path: PathStep[], value: unknown, visit: VisitValue): void {
  if (isRedacted(event, value, () => path.join('.'))) return;
  visit(path, value);
  if (typeof value !== 'object' || value === null) return;
  const below = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [step, inner] of below) {
    path.push(step);
    eachBelow(event, path, inner, visit);
    path.pop();
  }
}

class TokenLimits {
  isUntouched = true;
  #count = 0;
  /** No token can be there too often before so many are there at all, so counting begins only then. */
  #early: string[] = [];
  #counts: Map<string, number> | undefined;

  get goesOn(): boolean {
    return this.#count <= EVENT_TOKENS_MAX;
  }

  allow(token: string): boolean {
    this.#count++;
    const isAllowed = this.#count <= EVENT_TOKENS_MAX && this.#countOf(token) <= SAME_TOKENS_MAX;
    if (!isAllowed) this.isUntouched = false;
    return isAllowed;
  }

  /** How often this token has been there, this time included; 1 may stand for anything up to the limit. */
  #countOf(token: string): number {
    if (this.#count <= SAME_TOKENS_MAX) {
      this.#early.push(token);
      return 1;
    }
    this.#counts ??= countsOf(this.#early);
    const count = (this.#counts.get(token) ?? 0) + 1;
    this.#counts.set(token, count);
    return count;
  }
}

function countsOf(tokens: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}
