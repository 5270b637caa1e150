// Events that somebody changes in the store, past the service, and what readers get of them: for tests on a service
// that runs on the real store.

import assert from 'node:assert/strict';
import type { Classification, EventStream, List, StreamEvent } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import { ask as askOf } from './ask.ts';
import { EVENT } from './bound-operations.ts';
import { eventCaller } from './event-caller.ts';
import type { TestApp } from './test-app.ts';
import { openRunningJournal } from './running-journal.ts';

/** The row id of the event whose id is bound. */
export const ROW = '(SELECT id FROM entries WHERE event_id = ?)';
const EVENT_OF = { ...EVENT, classification: 'Confidential', payload: { amount: 1 } };
const REPORT = 'the store differs from what was accepted';

export function alteredEvents(app: TestApp) {
  const ask = (tenant: string, path: string, clearance: Classification = 'Secret') =>
    askOf(app, 'GET', `/api/v1${path}`, { key: clearance, tenant });

  /** A tenant with three events, the second of which is the one to change. */
  const threeOf = async (tenant: string, more: object = {}) => {
    const caller = eventCaller(app, tenant);
    const ids: string[] = [];
    for (const event of [EVENT_OF, { ...EVENT_OF, ...more }, EVENT_OF]) {
      ids.push((await caller.ingest(event)).body.eventId);
    }
    // The signer detects a change that is made before signing: the log is refused.
    assert.equal((await ask(tenant, `/audit-events/${ids[2]}/proof`)).status, 200);
    const streams = (await ask(tenant, '/event-streams')).body as List<EventStream>;
    const page = async (clearance?: Classification) => {
      const path = `/event-streams/${streams.data[0]!.streamId}/events`;
      const { status, body } = await ask(tenant, path, clearance);
      assert.equal(status, 200);
      return (body as List<StreamEvent>).data;
    };
    const codesOf = async (clearance: Classification) => [
      (await eventCaller(app, tenant, clearance).get(ids[1]!)).code,
      (await ask(tenant, `/audit-events/${ids[1]}/proof`, clearance)).status,
    ];
    return { tenant, ids, eventId: ids[1]!, page, codesOf };
  };

  /** Those of requests: the check that runs beside them may come by, too. */
  const reportsOf = (tenant: string) =>
    app.lines.filter(
      (line) => line['message'] === REPORT && line['tenant'] === tenant && line['requestId'] !== undefined,
    );

  return { ask, threeOf, reportsOf, change: changer(app) };
}

/** A column with its n-th byte, from 1, changed: to zero, or to one where it was zero. */
export function otherByte(column: string, n: number): string {
  const byte = `CASE substr(${column}, ${n}, 1) WHEN x'00' THEN x'01' ELSE x'00' END`;
  return `CAST(substr(${column}, 1, ${n - 1}) || ${byte} || substr(${column}, ${n + 1}) AS BLOB)`;
}

/** Changes the stored event; what stands in the way is taken off for as long as it takes. */
function changer(app: TestApp) {
  return (eventId: string, ...statements: string[]): void => {
    using db = openRunningJournal(app.dataDirectory);
    const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries_do_not_change'").get()!;
    db.exec('DROP TRIGGER entries_do_not_change');
    for (const statement of statements) {
      assert.equal(db.prepare(statement).run(eventIdBytes(eventId)).changes, 1, statement);
    }
    db.exec(String(trigger['sql']));
  };
}
