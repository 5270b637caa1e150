// The links of a page: the request as it was asked, and the same request with another cursor. All other parameters
// stay, because a cursor works only together with the filters and the sort order that it was made for.

import type { PageLinks, Pagination } from '@tallystick/contract';
import type { Target } from '../http/target.ts';
import { withParameter } from '../http/query.ts';

/** Over this, clients that allow few bytes of headers would lose the whole answer; its body has the links too. */
const HEADER_LENGTH_MAX = 8192;

export function linksOf({ path, queryText }: Target, { cursor, previousCursor }: Pagination): PageLinks {
  const by = (value: string | null) =>
    value === null ? null : asUri(`${path}?${withParameter(queryText, 'cursor', value)}`);
  const self = asUri(queryText === '' ? path : `${path}?${queryText}`);
  return { self, next: by(cursor), previous: by(previousCursor) };
}

/** The `Link` header (RFC 8288); undefined where there is nothing to say, or too much. */
export function linkHeader({ next, previous }: PageLinks): string | undefined {
  const links: string[] = [];
  if (next !== null) links.push(`<${next}>; rel="next"`);
  if (previous !== null) links.push(`<${previous}>; rel="prev"`);
  const text = links.join(', ');
  return text === '' || text.length > HEADER_LENGTH_MAX ? undefined : text;
}

/** Clients send what no URI may hold, and a bracket would end the link in a header. */
function asUri(text: string): string {
  return text.replace(/[^\x21\x23-\x3b\x3d\x3f-\x7e]/g, encodeURIComponent);
}
