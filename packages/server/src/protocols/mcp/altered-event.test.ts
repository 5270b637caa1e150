// What a model is told of an event that somebody has changed in the store, past the service: on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alteredEvents, otherByte, ROW } from '../../testing/altered-events.ts';
import { startEventsApp } from '../../testing/events-app.ts';
import { callTool } from '../../testing/mcp-caller.ts';

// What is sealed cannot be changed in this way: see storage/sealing.
const { app } = startEventsApp({}, undefined, { Encryption__Classifications: 'None' });
const { change, reportsOf, threeOf } = alteredEvents(app);

const CHANGES: Readonly<Record<string, string>> = {
  'a payload': `UPDATE contents SET text2 = CAST('{"payload":{"amount":2}}' AS BLOB) WHERE id = ${ROW}`,
  'the entry': `UPDATE entries SET entry = ${otherByte('entry', 36)} WHERE event_id = ?`,
};

for (const [i, [what, statement]] of Object.entries(CHANGES).entries()) {
  test(`an event does not verify once ${what} was changed in the store`, async () => {
    const tenant = `altered-${i}`;
    const { ids, eventId } = await threeOf(tenant);
    const verify = (id: string, key = 'Secret') =>
      callTool(app, 'events_verify', { eventId: id }, { key, tenant });
    for (const id of ids) assert.equal((await verify(id)).structuredContent['verified'], true);
    change(eventId, statement);
    for (const key of ['Secret', 'Public']) {
      const { structuredContent, isError } = await verify(eventId, key);
      const { verified, reason, message } = structuredContent;
      assert.equal(isError, undefined);
      assert.deepEqual([verified, reason, structuredContent['eventId']], [false, 'ALTERED', eventId]);
      assert.match(String(message), /differs from what was accepted/);
    }
    assert.equal((await verify(ids[0]!)).structuredContent['verified'], true, 'the others do');
    assert.deepEqual(
      reportsOf(tenant).map((line) => line['eventId']),
      [eventId, eventId],
      'the operator is told of both',
    );
  });
}
