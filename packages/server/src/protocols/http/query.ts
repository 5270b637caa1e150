// The query string, parsed strictly: a text that cannot be decoded is refused, not guessed.

import { AuditError } from '@tallystick/contract';

export type QueryParameters = ReadonlyMap<string, readonly string[]>;

const EMPTY: QueryParameters = new Map();

/** Parameters by name, in order; throws INVALID_PARAMETER. */
export function parseQueryString(text: string): QueryParameters {
  if (text === '') return EMPTY;
  const query = new Map<string, string[]>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decode(at === -1 ? pair : pair.slice(0, at));
    const value = at === -1 ? '' : decode(pair.slice(at + 1));
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return query;
}

/** The query as it was sent, with this one value under the name instead of the old ones. */
export function withParameter(text: string, name: string, value: string): string {
  const others = text.split('&').filter((pair) => pair !== '' && decode(pair.split('=', 1)[0]!) !== name);
  return [...others, `${name}=${encodeURIComponent(value)}`].join('&');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AuditError('INVALID_PARAMETER', 'The query string is not percent-encoded UTF-8.', {
      details: [{ field: '', issue: 'is not percent-encoded UTF-8', value: text }],
    });
  }
}
