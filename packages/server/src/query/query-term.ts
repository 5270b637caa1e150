// The rules of single terms: which fields there are, and what may be asked of each.

import { isDateTime } from '@tallystick/contract';
import { utcTimestamp } from '../events/timestamp.ts';
import type { QueryStep } from './field-path.ts';
import { FIELD_NAMES, fieldNamed, type FieldName, type FieldRule, ruleOf } from './fields.ts';
import { foldText } from './fold.ts';
import { QueryFault, unescape } from './query-scanner.ts';
import type { ContentPath, Field, Operator, Term } from './query.ts';
import { phraseOf } from './tokens.ts';

/** What stands in the place of a value, and where. */
export interface Written {
  readonly position: number;
  /** `=` says no more than the colon before it. */
  readonly operator: Operator | undefined;
  readonly text: string;
  /** A `*` stands behind the text. */
  readonly prefix: boolean;
}

/** A JSON number. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const CONTENT = /^(context|payload)(?=[.[]|$)/i;
const QUOTES = 'to look for the words, put them in quotes';
const SHOWN_LENGTH_MAX = 40;

/** The number that a text says, if it says one. */
export function numberIn(text: string): number | undefined {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  // Minus zero is zero.
  return Number.isFinite(value) ? value + 0 : undefined;
}

export function termOf(field: Field | undefined, written: Written): Term {
  const { position, operator, text, prefix } = written;
  if (field === undefined) return { kind: 'Text', text: withWord(position, text), prefix };
  if (text === '' && prefix && operator === undefined) return { kind: 'Existence', field };
  if (field.name !== undefined) return namedTermOf(field, field.name, written);
  if (operator !== undefined && operator !== '=') return comparisonOf(field, field.path, operator, written);
  return { kind: 'Value', field, text: withWord(position, text), prefix };
}

function namedTermOf(field: Field, name: FieldName, written: Written): Term {
  const { position, operator, text, prefix } = written;
  const rule = ruleOf(name);
  if (rule.time !== undefined) {
    return { kind: 'Comparison', field, operator: operator ?? '=', value: timeOf(name, written) };
  }
  if (operator !== undefined && operator !== '=') {
    throw new QueryFault(
      position - operator.length,
      `${name} has no ${operator}; timestamp, receivedAt and what is below context and payload have`,
    );
  }
  refuseOtherChoice(name, rule, written);
  return { kind: 'Value', field, text: (rule.whole ? withCharacter : withWord)(position, text), prefix };
}

function refuseOtherChoice(
  name: FieldName,
  { choices }: FieldRule,
  { position, text, prefix }: Written,
): void {
  const folded = foldText(text);
  const isChoice = (choice: string) =>
    prefix ? foldText(choice).startsWith(folded) : foldText(choice) === folded;
  if (choices === undefined || choices.some(isChoice)) return;
  throw new QueryFault(position, `${quoteShort(text)} is no ${name}; there are ${choices.join(', ')}`);
}

function comparisonOf(
  field: Field,
  path: ContentPath,
  operator: Operator,
  { position, text, prefix }: Written,
): Term {
  if (path.length === 1) {
    throw new QueryFault(
      position - operator.length,
      `${operator} needs a path, like ${path[0]}.amount:${operator}5`,
    );
  }
  const value = prefix ? undefined : numberIn(text);
  if (value === undefined) {
    throw new QueryFault(
      position,
      `${quoteShort(text + (prefix ? '*' : ''))} is no number, which ${operator} needs`,
    );
  }
  return { kind: 'Comparison', field, operator, value };
}

/** A day as it is, an instant in UTC. */
function timeOf(name: FieldName, { position, text, prefix }: Written): string {
  if (!prefix && /^\d{4}-\d\d-\d\d$/.test(text) && isDateTime(`${text}T00:00:00Z`)) return text;
  if (!prefix && isDateTime(text)) return utcTimestamp(text);
  throw new QueryFault(
    position,
    `${quoteShort(text + (prefix ? '*' : ''))} is no time; ${name} takes 2026-01-02 or 2026-01-02T03:04:05Z`,
  );
}

/** A text that is compared as a whole must have a visible character, or every value would begin with it. */
function withCharacter(position: number, text: string): string {
  if (foldText(text) !== '') return text;
  throw new QueryFault(position, `${quoteShort(text)} has no character to look for`);
}

/** A search by words needs at least one word. */
function withWord(position: number, text: string): string {
  if (phraseOf(text, false).words.length > 0) return text;
  throw new QueryFault(position, `${quoteShort(text)} has no letter or digit to look for`);
}

/** `action=x` and `payload.amount>5` would be taken for words, and find nothing. */
export function refuseMissingColon(position: number, word: string): void {
  const [, before = '', sign] = /^([^<>=]+)([<>=])/u.exec(word) ?? [];
  if (sign === undefined || !namesField(before)) return;
  throw new QueryFault(
    position + before.length,
    `a field has a colon ${sign === '=' ? 'instead of' : 'before'} ${sign}; ${QUOTES}`,
  );
}

/** `action:(a OR outcome:Denied)` would look for an action of that name. */
export function refuseInnerField(position: number, word: string): void {
  const [, before] = /^([^:]+):/u.exec(word) ?? [];
  if (before === undefined || !namesField(before)) return;
  throw new QueryFault(position, `these parentheses hold values of one field; ${QUOTES}`);
}

function namesField(text: string): boolean {
  return fieldNamed(text) !== undefined || CONTENT.test(text);
}

/** The field that a text before a colon names. */
export function fieldOf(position: number, text: string): Field {
  const name = fieldNamed(text);
  if (name !== undefined) return { name };
  const [head = '', content] = CONTENT.exec(text) ?? [];
  if (content === undefined) {
    throw new QueryFault(
      position,
      `there is no field ${quoteShort(text)}; there are ${FIELD_NAMES.join(', ')}, context.<path> and payload.<path>; ${QUOTES}`,
    );
  }
  const steps = stepsOf(position + head.length, text.slice(head.length));
  return { path: [content.toLowerCase() === 'context' ? 'context' : 'payload', ...steps] };
}

/** `.key`, `."any key"`, `[0]` or `[*]`. */
const STEP = /\.([^."[\]*]+)|\."((?:[^"\\]|\\.)*)"|\[(\d{1,9})\]|\[\*\]/suy;

function stepsOf(position: number, text: string): QueryStep[] {
  const steps: QueryStep[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const at = STEP.lastIndex;
    const match = STEP.exec(text);
    if (match === null) {
      throw new QueryFault(
        position + at,
        `a path goes on with .key, ."any key", [0] or [*], not ${quoteShort(text.slice(at))}`,
      );
    }
    const [, key, quoted, index] = match;
    if (index !== undefined) steps.push(Number(index));
    else steps.push(key ?? (quoted === undefined ? null : unescape(quoted)));
  }
  return steps;
}

export function quoteShort(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
}
