// A query as text, which is read as the same tree again.

import { formatPath, quote } from '../query/field-path.ts';
import type { Field, Query } from '../query/query.ts';

export function formatQuery(query: Query): string {
  switch (query.kind) {
    case 'And':
      return query.of.map(formatPart).join(' ');
    case 'Or':
      // AND binds tighter, so it needs no parentheses; with them a text could get deeper than what it was read from.
      return query.of
        .map((part) => (part.kind === 'And' ? formatQuery(part) : formatPart(part)))
        .join(' OR ');
    case 'Not':
      return `-${formatPart(query.of)}`;
    case 'Text':
      return formatText(query.text, query.prefix, PLAIN_WORD);
    case 'Value':
      return `${formatField(query.field)}:${formatText(query.text, query.prefix, PLAIN_VALUE)}`;
    case 'Comparison': {
      const sign = query.operator === '=' ? '' : query.operator;
      return `${formatField(query.field)}:${sign}${query.value}`;
    }
    case 'Existence':
      return `${formatField(query.field)}:*`;
  }
}

function formatPart(part: Query): string {
  return part.kind === 'And' || part.kind === 'Or' ? `(${formatQuery(part)})` : formatQuery(part);
}

function formatField({ name, path }: Field): string {
  return name ?? formatPath(path);
}

// Somewhat fewer texts than may stand without quotes, to be easy to read.
const PLAIN_WORD = /^(?!(?:OR|AND|NOT)$)[\p{L}\p{N}][\p{L}\p{N}\p{M}._@/-]*$/u;
const PLAIN_VALUE = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._@/:-]*$/u;

function formatText(text: string, prefix: boolean, plain: RegExp): string {
  return (plain.test(text) ? text : quote(text)) + (prefix ? '*' : '');
}
