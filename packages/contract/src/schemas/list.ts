// Lists. An operation that lists answers a page: the items and where they stand. REST adds navigation links to it.

import type { Static, TSchema } from 'typebox';
import { LIMITS } from '../limits.ts';
import { arrayOf, asJson, byDefault, choice, doc, object, optional, orNull, refusedAs } from '../schema.ts';
import { Type } from '../type.ts';
import { Count } from './primitives.ts';

/** The members by which every list is paged. */
export const PAGING = {
  limit: optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.pageSizeMax,
      default: LIMITS.pageSizeDefault,
      description: 'Items in a page at most; of large ones fewer fit.',
    }),
  ),
  cursor: optional(
    refusedAs(
      'CURSOR_INVALID',
      Type.String({
        minLength: 1,
        maxLength: LIMITS.cursorLengthMax,
        description: 'Opaque; from the page before.',
      }),
    ),
  ),
};

export const TotalRelation = choice('TotalRelation', 'How a total relates to the true number.', [
  'Exact',
  'AtLeast',
  'Approximate',
]);

export type Pagination = Static<typeof Pagination>;
export const Pagination = object('Pagination', 'Where a page stands in its list.', {
  total: doc(Count, 'Items in the whole list.'),
  totalRelation: TotalRelation,
  limit: byDefault(Type.Integer({ minimum: 1, maximum: LIMITS.pageSizeMax }), LIMITS.pageSizeDefault),
  cursor: orNull(Type.String(), 'Leads to the next page.'),
  previousCursor: orNull(Type.String(), 'Leads to the page before.'),
  hasMore: Type.Boolean(),
});

export type PageLinks = Static<typeof PageLinks>;
export const PageLinks = object('PageLinks', 'Paths with query, below the host.', {
  self: Type.String(),
  next: orNull(Type.String()),
  previous: orNull(Type.String()),
});

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: Pagination;
}

/** The REST envelope of a list. */
export interface List<Item> extends Page<Item> {
  readonly links: PageLinks;
}

const titleOf = (item: TSchema): string => String(asJson(item)['title']);

/** The schema of a page of such items. */
export function PageOf<S extends TSchema>(item: S) {
  return object(`${titleOf(item)}Page`, 'A page of a list.', { data: arrayOf(item), pagination: Pagination });
}

/** The schema of the REST envelope around a page of such items. */
export function ListOf<S extends TSchema>(item: S) {
  return object(`${titleOf(item)}List`, 'A page of a list, with links.', {
    data: arrayOf(item),
    pagination: Pagination,
    links: PageLinks,
  });
}
