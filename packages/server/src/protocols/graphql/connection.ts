// A page as a connection: what clients of GraphQL know how to walk, beside the page as REST has it.

import type { Pagination } from '@tallystick/contract';

export interface Page {
  readonly data: readonly unknown[];
  readonly pagination: Pagination;
}

export class Connection {
  readonly data: readonly unknown[];
  readonly pagination: Pagination;

  constructor({ data, pagination }: Page) {
    this.data = data;
    this.pagination = pagination;
  }

  get nodes(): readonly unknown[] {
    return this.data;
  }

  /** A cursor leads on from a page, so only the last of its edges has one. */
  get edges() {
    const last = this.data.length - 1;
    return this.data.map((node, i) => ({ node, cursor: i === last ? this.pagination.cursor : null }));
  }

  get pageInfo() {
    const { hasMore, cursor, previousCursor } = this.pagination;
    return {
      hasNextPage: hasMore,
      hasPreviousPage: previousCursor !== null,
      startCursor: previousCursor,
      endCursor: cursor,
    };
  }

  get totalCount(): number {
    return this.pagination.total;
  }

  get totalRelation(): string {
    return this.pagination.totalRelation;
  }
}
