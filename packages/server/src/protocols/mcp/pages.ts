// Answers that a model can read: a page that is too large for one is asked for again with as many items as fit.

import { LIMITS } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { AnyAnswer } from '../../operations.ts';
import { type Asked, askOperation, type BoundOperation, type Conversation } from './conversation.ts';
import { type Data, dataOf } from './results.ts';

export interface Fitting {
  readonly answer: AnyAnswer;
  /** Undefined where the operation answers none. */
  readonly data: Data | undefined;
}

export async function askFitting(
  talk: Conversation,
  { binding, leftOut }: BoundOperation,
  parts: Omit<Asked, 'binding'>,
): Promise<Fitting> {
  const asked = { ...parts, binding };
  const { properties } = binding.operation.input as { properties?: Readonly<Record<string, unknown>> };
  const isSearch = binding.operation.name === 'events.search';
  // A body that is large is handed over to another thread, so what is asked for again is a copy.
  const body = isSearch ? parts.body?.slice() : undefined;
  const answer = await askOperation(talk, asked);
  const data = dataOf(answer, leftOut);
  const page = isSearch ? data?.['results'] : properties?.['limit'] && data?.['data'];
  const count = Array.isArray(page) ? itemsThatFit(page, JSON.stringify(data).length) : undefined;
  if (count === undefined) return { answer, data };
  const { members } = parts;
  const smaller = isSearch ? { body: searchFor(count, body) } : { members: { ...members, limit: count } };
  const again = await askOperation(talk, { ...asked, ...smaller });
  return { answer: again, data: dataOf(again, leftOut) };
}

/** The limit of a search stands in its body, which is a sound one by now. */
function searchFor(limit: number, body: Uint8Array | undefined): Uint8Array {
  const search =
    body === undefined ? {} : (parseJson(Buffer.from(body).toString()) as { pagination?: object });
  return Buffer.from(JSON.stringify({ ...search, pagination: { ...search.pagination, limit } }));
}

/** How many items of a page fit; undefined where all of it does. A page has one item at least. */
function itemsThatFit(items: readonly unknown[], length: number): number | undefined {
  if (length <= LIMITS.mcpResultLengthMax || items.length <= 1) return undefined;
  let room = LIMITS.mcpResultLengthMax - AROUND_LENGTH;
  let count = 0;
  for (const item of items) {
    room -= JSON.stringify(item).length + 1;
    if (room < 0) break;
    count += 1;
  }
  return Math.max(1, count);
}

/** What stands around the items of a page, with aggregations. */
const AROUND_LENGTH = 10_000;
