// Expressions as FTS5 reads them. No term has a quote, a star or a parenthesis in it.

import type { Expressions, TermColumn } from '../../event-index/plan.ts';

/** FTS5 reads parentheses about thirty deep; some more are put around what is asked. */
const DEPTH_MAX = 24;

export const FTS5: Expressions = {
  phrase: (columns, terms, prefix) =>
    `{${columns.map(nameOf).join(' ')}} : "${terms.join(' ')}"${prefix ? ' *' : ''}`,
  all: (expressions) => joined(expressions, 'AND'),
  any: (expressions) => joined(expressions, 'OR'),
  without: (found, excluded) => `(${found} NOT ${excluded})`,
  isReadable(expression) {
    let depth = 0;
    for (const [sign] of expression.matchAll(/[()]/g)) {
      depth += sign === '(' ? 1 : -1;
      if (depth > DEPTH_MAX) return false;
    }
    return true;
  },
};

function joined(expressions: readonly string[], operator: 'AND' | 'OR'): string {
  return expressions.length === 1 ? expressions[0]! : `(${expressions.join(` ${operator} `)})`;
}

function nameOf(column: TermColumn): string {
  return column.toLowerCase();
}
