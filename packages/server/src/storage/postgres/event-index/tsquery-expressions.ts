// Expressions as a tsquery is written, and the lexemes of a tsvector: a letter for the column in front of the term. A tsvector
// has no columns of its own. No term has a quote, a star or a backslash in it.

import type { Expressions, TermColumn } from '../../event-index/plan.ts';

const COLUMN_LETTERS: Readonly<Record<TermColumn, string>> = {
  facets: 'f',
  facts: 'w',
  Public: 'p',
  Internal: 'i',
  Confidential: 'c',
  Secret: 's',
};

/** In front of the terms of a column, each of which begins with the number of its view. */
export function columnLetter(column: TermColumn): string {
  return COLUMN_LETTERS[column];
}

/** Stands alone in a doc that has more terms than can be held. */
export function largeLexeme(prefix: string): string {
  return `l${prefix}`;
}

/** A longer one is not asked for: a tsquery holds no more than a megabyte. */
const LENGTH_MAX = 400_000;

export const TSQUERY: Expressions = {
  phrase: (columns, terms, prefix) =>
    joined(
      columns.map((column) => phraseIn(column, terms, prefix)),
      '|',
    ),
  all: (expressions) => joined(expressions, '&'),
  any: (expressions) => joined(expressions, '|'),
  without: (found, excluded) => `(${found} & !${excluded})`,
  isReadable: (expression) => expression.length <= LENGTH_MAX,
};

export function quoted(lexeme: string): string {
  return `'${lexeme}'`;
}

function phraseIn(column: TermColumn, terms: readonly string[], prefix: boolean): string {
  const lexemes = terms.map((term) => quoted(columnLetter(column) + term));
  const phrase = lexemes.join(' <-> ') + (prefix ? ':*' : '');
  return lexemes.length === 1 ? phrase : `(${phrase})`;
}

/** Halved again and again: as a chain of many, it would be as deep as it is long, and the stack of the server is not. */
function joined(expressions: readonly string[], operator: '&' | '|'): string {
  if (expressions.length === 1) return expressions[0]!;
  const half = Math.ceil(expressions.length / 2);
  const [left, right] = [expressions.slice(0, half), expressions.slice(half)];
  return `(${joined(left, operator)} ${operator} ${joined(right, operator)})`;
}
