// P18 for repeats: a caller who may not read an event guesses its content under its id, or a whole request under its key.
// A right guess gets the same answer as a wrong one, byte for byte; ids and times, which no two answers share, are put
// aside. The first caller and cleared callers still get their repeats.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Classification, IssuedKey } from '@tallystick/contract';
import { adminCaller, type AdminCaller, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import type { Told } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const INGEST = '/api/v1/audit-events';
const BATCH = '/api/v1/audit-events/batch';
const KEYS = '/api/v1/admin/api-keys';
const TENANT = 'acme';
const [RIGHT, WRONG] = [4711, 4712];

const UNSHARED =
  /[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z|\w{3}, \d\d \w{3} \d{4} [0-9:]+ GMT|\bguessed-\d+\b/g;

/** All that an answer says. */
function comparable({ status, headers, text }: Told): string {
  return `${status}\n${JSON.stringify([...headers])}\n${text}`.replace(UNSHARED, '…');
}

let made = 0;
const newId = () => `01KE00000000000000000${String(++made).padStart(5, '0')}`;
const newKey = () => ({ 'Idempotency-Key': `guessed-${++made}` });

/** The event whose number is guessed; sent with the same id, it is the same event if the number is. */
const eventOf = (eventId: string, pin: number, classification: Classification = 'Confidential') => ({
  ...EVENT,
  eventId,
  classification,
  payload: { pin },
});
/** One whose id the service chooses: only the key of its request tells that it is sent again. */
const eventWithoutId = (pin: number) => ({ ...EVENT, classification: 'Confidential', payload: { pin } });
const FRESH = { ...EVENT, payload: { note: 'open' } };

interface Attempt {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

/** By how the number is guessed: what is stored first, and the guess at it. */
const WAYS: Readonly<Record<string, () => { first: Attempt; guess: (pin: number) => Attempt }>> = {
  'a single event by its id'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: INGEST, body: eventOf(id, pin) }),
    };
  },
  'a single event by its id, under a key of the guesser'() {
    const id = newId();
    const headers = newKey();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: INGEST, body: eventOf(id, pin), headers }),
    };
  },
  'a single event by the key of its request'() {
    const headers = newKey();
    return {
      first: { path: INGEST, body: eventWithoutId(RIGHT), headers },
      guess: (pin) => ({ path: INGEST, body: eventWithoutId(pin), headers }),
    };
  },
  'a batch by its key'() {
    const headers = newKey();
    const batch = (pin: number) => ({ events: [FRESH, eventWithoutId(pin)] });
    return {
      first: { path: BATCH, body: batch(RIGHT), headers },
      guess: (pin) => ({ path: BATCH, body: batch(pin), headers }),
    };
  },
  'an event of a batch that was refused, by the key of the batch'() {
    const headers = newKey();
    const batch = (pin: number) => ({ events: [FRESH, { ...eventWithoutId(pin), action: 'no verb' }] });
    return {
      first: { path: BATCH, body: batch(RIGHT), headers },
      guess: (pin) => ({ path: BATCH, body: batch(pin), headers }),
    };
  },
  'an event of a batch by its id'() {
    const id = newId();
    return {
      first: { path: BATCH, body: { events: [FRESH, eventOf(id, RIGHT)] } },
      guess: (pin) => ({ path: BATCH, body: { events: [FRESH, eventOf(id, pin)] } }),
    };
  },
  'an event that stands alone in a batch, by its id'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: BATCH, body: { events: [eventOf(id, pin)] } }),
    };
  },
  'an event of a transactional batch by its id'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: BATCH, body: { events: [FRESH, eventOf(id, pin)], transactional: true } }),
    };
  },
  'an event of a batch by its id, which stands there twice'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: BATCH, body: { events: [eventOf(id, pin), eventOf(id, pin)] } }),
    };
  },
  'a Secret event, which is not there for the guesser, by its id'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT, 'Secret') },
      guess: (pin) => ({ path: INGEST, body: eventOf(id, pin, 'Secret') }),
    };
  },
  'a Confidential event by its id, said to be Public'() {
    const id = newId();
    return {
      first: { path: INGEST, body: eventOf(id, RIGHT) },
      guess: (pin) => ({ path: INGEST, body: eventOf(id, pin, 'Public') }),
    };
  },
};

interface Stage {
  readonly app: TestApp;
  /** May write; its clearance is that of the role, Internal. */
  readonly sender: Keyed;
  readonly outsider: Keyed;
  /** As the outsider, with a clearance for everything. */
  readonly cleared: Keyed;
}

type Keyed = AdminCaller & { readonly keyId: string };

async function callerWith(app: TestApp, clearance?: Classification): Promise<Keyed> {
  const request = { name: 'test', roles: ['Operator'], tenantId: TENANT, ...(clearance && { clearance }) };
  const told = await adminCaller(app, TENANT).post(KEYS, request);
  assert.equal(told.code, '201', told.text);
  return keyed(app, told);
}

function keyed(app: TestApp, { text }: Told): Keyed {
  const { key, keyId } = JSON.parse(text) as IssuedKey;
  assert.ok(key);
  return { ...adminCaller(app, TENANT, key), keyId };
}

async function rotated(app: TestApp, keyId: string): Promise<Keyed> {
  const told = await adminCaller(app, TENANT).post(`${KEYS}/${keyId}/rotate`, { gracePeriod: 'PT1H' });
  assert.equal(told.code, '201', told.text);
  return keyed(app, told);
}

/** As it is: compressed, ids would change its length. */
const PLAIN = { 'Accept-Encoding': 'identity' };
const ask = (caller: AdminCaller, { path, body, headers }: Attempt) =>
  caller.post(path, body, { ...headers, ...PLAIN });

function describeRepeats(backend: string, settings: () => Promise<Readonly<Record<string, string>>>): void {
  describe(`repeats on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      const app = await startTestApp({ ...(await settings()), ...WITH_PLATFORM_KEY });
      stage = {
        app,
        sender: await callerWith(app),
        outsider: await callerWith(app),
        cleared: await callerWith(app, 'Secret'),
      };
    });
    after(() => stage?.app[Symbol.asyncDispose]());

    for (const [way, make] of Object.entries(WAYS)) {
      it(`nobody learns by guessing: ${way}`, async () => {
        const { first, guess } = make();
        assert.match((await ask(stage.sender, first)).code, /^20[17]/);
        const told: string[] = [];
        for (const pin of [WRONG, RIGHT, RIGHT, WRONG])
          told.push(comparable(await ask(stage.outsider, guess(pin))));
        assert.deepEqual(
          told,
          Array.from({ length: told.length }, () => told[0]),
        );
        assert.match(told[0]!, /IDEMPOTENCY_KEY_REUSED|EVENT_ID_CONFLICT/);
      });

      it(`a caller who may know is told: ${way}`, async () => {
        if (way.includes('said to be')) return;
        const { first, guess } = make();
        assert.match((await ask(stage.sender, first)).code, /^20[17]/);
        for (const caller of [stage.sender, stage.cleared]) {
          const right = await ask(caller, guess(RIGHT));
          const wrong = await ask(caller, guess(WRONG));
          assert.match(right.text, /"idempotent":true|"status":"Duplicate"/);
          // The harness above can tell the two apart.
          assert.notEqual(comparable(right), comparable(wrong));
        }
      });
    }

    it('an open event is a repeat for everybody who may read it', async () => {
      const headers = newKey();
      const event = { ...eventOf(newId(), RIGHT), classification: 'Internal' };
      assert.equal((await stage.sender.post(INGEST, event, headers)).code, '201');
      assert.equal((await stage.outsider.post(INGEST, event)).code, '200');
      assert.equal((await stage.outsider.post(INGEST, event, headers)).code, '200');
      const batch = { events: [event, eventWithoutId(RIGHT)] };
      const mixed = await stage.outsider.post(BATCH, batch);
      assert.match(mixed.text, /"status":"Duplicate".*"status":"Accepted"/);
    });

    it('a batch with open and closed events is judged event by event', async () => {
      const [open, closed] = [{ ...eventOf(newId(), 1), classification: 'Internal' }, eventOf(newId(), 2)];
      assert.equal((await stage.sender.post(BATCH, { events: [open, closed] })).code, '201');
      const { text } = await stage.outsider.post(BATCH, { events: [open, closed, FRESH] });
      const { results } = JSON.parse(text) as { results: { status: string }[] };
      assert.deepEqual(
        results.map(({ status }) => status),
        ['Duplicate', 'Rejected', 'Accepted'],
      );
    });

    it('a rotated key is the same caller, the old one and the new one alike', async () => {
      const old = await callerWith(stage.app);
      const [early, headers] = [eventOf(newId(), 1), newKey()];
      assert.equal((await old.post(INGEST, early, headers)).code, '201');
      const next = await rotated(stage.app, old.keyId);
      const last = await rotated(stage.app, next.keyId);
      const late = eventOf(newId(), 2);
      assert.equal((await last.post(INGEST, late)).code, '201');
      for (const caller of [old, next, last]) {
        assert.equal((await caller.post(INGEST, early)).code, '200');
        assert.equal((await caller.post(INGEST, early, headers)).code, '200');
        assert.equal((await caller.post(INGEST, late)).code, '200');
      }
      assert.equal((await stage.outsider.post(INGEST, early)).code, '409 EVENT_ID_CONFLICT');
    });

    it('a key that is rotated by somebody who may see less is another caller', async () => {
      const admin = adminCaller(stage.app, TENANT);
      const made = async (scopes: string[]) =>
        keyed(
          stage.app,
          await admin.post(KEYS, { name: 'test', tenantId: TENANT, scopes, clearance: 'Internal' }),
        );
      const [manager, writer] = [await made(['audit:keys', 'audit:write']), await made(['audit:write'])];
      const event = eventOf(newId(), RIGHT, 'Secret');
      assert.equal((await writer.post(INGEST, event)).code, '201');
      assert.equal((await writer.post(INGEST, event)).code, '200');
      const told = await manager.post(`${KEYS}/${writer.keyId}/rotate`, { gracePeriod: 'PT1H' });
      assert.equal(told.code, '201', told.text);
      assert.equal((await keyed(stage.app, told).post(INGEST, event)).code, '409 EVENT_ID_CONFLICT');
      assert.equal((await writer.post(INGEST, event)).code, '200');
    });

    it('of two callers at once under one key one stores, and the other is refused for any body', async () => {
      for (const pin of [RIGHT, WRONG]) {
        const headers = newKey();
        const told = await Promise.all([
          stage.sender.post(INGEST, eventWithoutId(RIGHT), headers),
          stage.outsider.post(INGEST, eventWithoutId(pin), headers),
        ]);
        assert.deepEqual(told.map(({ code }) => code).sort(), ['201', '409 IDEMPOTENCY_KEY_REUSED']);
      }
    });

    it('requests to streams and views store nothing classified: another caller may repeat them', async () => {
      const [one, other] = [adminCaller(stage.app, TENANT), await adminOf(stage.app)];
      await one.send();
      const { data } = JSON.parse((await one.get('/api/v1/event-streams?status=Open')).text) as {
        data: { streamId: string }[];
      };
      const stream = `/api/v1/event-streams/${data[0]!.streamId}`;
      for (const path of [`${stream}/verify`, `${stream}/seal`, '/api/v1/admin/projections/rebuild']) {
        const headers = newKey();
        assert.match((await one.post(path, {}, headers)).code, /^20[02]$/, path);
        assert.equal((await other.post(path, {}, headers)).code, '200', path);
      }
    });

    it('making a key stores nothing classified: another caller who may make keys may repeat it', async () => {
      const headers = newKey();
      const [one, other] = [adminCaller(stage.app, TENANT), await adminOf(stage.app)];
      const request = { name: 'made twice', roles: ['Viewer'] };
      const first = await one.post(KEYS, request, headers);
      assert.equal(first.code, '201');
      const again = await other.post(KEYS, request, headers);
      assert.equal(again.code, '200');
      const { key, ...shown } = JSON.parse(first.text) as IssuedKey;
      assert.ok(key);
      assert.deepEqual(JSON.parse(again.text), shown);
    });
  });
}

async function adminOf(app: TestApp): Promise<AdminCaller> {
  const told = await adminCaller(app, TENANT).post(KEYS, {
    name: 'a',
    roles: ['Admin'],
    clearance: 'Public',
  });
  assert.equal(told.code, '201', told.text);
  return keyed(app, told);
}

describeRepeats('SQLite', () => Promise.resolve({}));

let server: Awaited<ReturnType<typeof openDatabases>>;
after(() => server?.[Symbol.asyncDispose]());
describeRepeats('PostgreSQL', async () => {
  server = await openDatabases();
  return { Storage__Url: await server.createDatabase() };
});
