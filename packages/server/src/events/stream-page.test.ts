// Pages of a stream of large events, through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventStream, List, StreamEvent } from '@tallystick/contract';
import { EVENT } from '../testing/bound-operations.ts';
import { startEventsApp } from '../testing/events-app.ts';

const { app, acme } = startEventsApp();

async function read<T>(path: string): Promise<{ list: List<T>; bytes: number }> {
  const response = await fetch(`${app.url}${path}`, {
    headers: { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' },
  });
  const text = await response.text();
  assert.equal(response.status, 200, text.slice(0, 300));
  return { list: JSON.parse(text) as List<T>, bytes: text.length };
}

test('a page of large events ends before it is too large, and the walk both ways has no gap all the same', async () => {
  const large = { ...EVENT, payload: { a: 'x'.repeat(60_000) }, context: { b: 'y'.repeat(60_000) } };
  for (let i = 0; i < 3; i++) {
    const { status } = await acme.ingestBatch({ events: Array.from({ length: 50 }, () => large) });
    assert.equal(status, 201);
  }
  const { list: streams } = await read<EventStream>('/api/v1/event-streams');
  const pages = [
    await read<StreamEvent>(`/api/v1/event-streams/${streams.data[0]!.streamId}/events?limit=1000`),
  ];
  while (pages.at(-1)!.list.links.next !== null) pages.push(await read(pages.at(-1)!.list.links.next!));
  for (const { bytes } of pages) assert.ok(bytes < 6 * 1024 * 1024, `${bytes} bytes`);
  assert.ok(pages.length > 3);
  const sequences = ({ list }: { list: List<StreamEvent> }) => list.data.map(({ sequence }) => sequence);
  assert.deepEqual(
    pages.flatMap(sequences),
    Array.from({ length: 150 }, (_, i) => i + 1),
  );
  assert.equal(pages[0]!.list.pagination.total, 150);
  let back = pages.at(-1)!;
  let seen = sequences(back);
  while (back.list.links.previous !== null) {
    back = await read(back.list.links.previous);
    seen = [...sequences(back), ...seen];
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 150 }, (_, i) => i + 1),
  );
});
