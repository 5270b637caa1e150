// A service whose policies and settings change without end, and its verification afterwards, on both backends: what has decided
// about each event is found again, and nothing else could have.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { CLASSIFICATIONS, type Policy } from '@tallystick/contract';
import * as fc from 'fast-check';
import { checkDatabase, checkStore, type StoreReport } from './check-store.ts';
import { anyAskedEvent, anyConditions, type AskedEvent } from './policies/testing/any-condition.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from './testing/admin-caller.ts';
import { ask } from './testing/ask.ts';
import { raw } from './testing/postgres-nodes.ts';
import { type Databases, openDatabases } from './testing/postgres-server.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';
import { JOURNAL_FILE } from './storage/sqlite/connection/database.ts';

const SEED = Number(process.env['SEED'] ?? 20260118);
const STEPS = 90;
const TENANTS = ['acme', 'globex'];

let server: Databases;
const folder = mkdtempSync(join(tmpdir(), 'tallystick-past-decisions-'));
before(async () => {
  server = await openDatabases();
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

type Step =
  | { readonly does: 'Put'; readonly tenant: string; readonly at: number; readonly policy: object }
  | { readonly does: 'Delete'; readonly tenant: string; readonly at: number }
  | { readonly does: 'Settings'; readonly tenant: string; readonly settings: object }
  | {
      readonly does: 'Send';
      readonly tenant: string;
      readonly events: readonly AskedEvent[];
      readonly id: string;
    };

const period = fc.constantFrom('P1M', 'P30D', 'P1Y', 'P365D', 'P10Y', 'PT1S', 'P9999Y');
const classification = fc.constantFrom(...CLASSIFICATIONS);
const tenant = fc.constantFrom(...TENANTS);
const effects = {
  Classification: fc.record({ classification }),
  Retention: fc.record({ retentionPeriod: period }),
  Access: fc.constant({ access: 'Deny', roles: ['Viewer'] }),
};
const policy = fc.constantFrom('Classification', 'Retention', 'Access').chain((policyType) =>
  fc.record({
    policyType: fc.constant(policyType),
    priority: fc.nat({ max: 3 }),
    status: fc.constantFrom('Active', 'Active', 'Active', 'Inactive'),
    rules: fc.array(
      fc.record({
        enabled: fc.constantFrom(true, true, true, false),
        conditions: fc.oneof(fc.constant({}), anyConditions),
        effect: effects[policyType] as fc.Arbitrary<object>,
      }),
      { maxLength: 4 },
    ),
  }),
);
const at = fc.nat({ max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('Put' as const), tenant, at, policy }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('Delete' as const), tenant, at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('Settings' as const),
      tenant,
      settings: fc.record({ defaultRetention: period, defaultClassification: classification }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('Send' as const),
      tenant,
      events: fc.array(anyAskedEvent, { minLength: 1, maxLength: 6 }),
      // A correlation id that is no UUID is no event's: each gets one of its own.
      id: fc.constantFrom('x', '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11'),
    }),
  },
);

class World {
  readonly #app: TestApp;
  readonly #policies = new Map<string, Policy>();
  counted = { sent: 0, refused: 0 };

  constructor(app: TestApp) {
    this.#app = app;
  }

  async take(each: Step): Promise<void> {
    const { tenant: of } = each;
    const say = async (method: string, path: string, body?: object, headers = {}) => {
      const told = await ask<Policy>(this.#app, method, `/api/v1${path}`, {
        key: PLATFORM_KEY,
        tenant: of,
        headers,
        ...(body !== undefined && { body }),
      });
      assert.ok(told.status < 500, `${method} ${path}: ${told.text}`);
      return told;
    };
    if (each.does === 'Settings') await say('PUT', `/admin/tenants/${of}`, each.settings);
    if (each.does === 'Send') {
      const events = each.events.map(({ resource, actor, ...event }) => ({
        ...event,
        // That of the request counts.
        correlationId: undefined,
        actor: { ...actor, ...('userId' in actor && { userId: actor.userId || 'u' }) },
        resource: { resourceType: resource.resourceType || 'T', resourceId: resource.resourceId || 'r' },
        timestamp: '2026-01-02T03:04:05.678Z',
      }));
      const { code } = await say('POST', '/audit-events/batch', { events }, { 'X-Correlation-Id': each.id });
      if (code.startsWith('201')) this.counted.sent += events.length;
      else this.counted.refused++;
    }
    if (each.does !== 'Put' && each.does !== 'Delete') return;
    const name = `${each.at} ${of}`;
    const known = this.#policies.get(name);
    const path = known === undefined ? '/policies' : `/policies/${known.policyId}`;
    if (each.does === 'Delete') {
      if (known !== undefined && (await say('DELETE', path)).status === 204) this.#policies.delete(name);
      return;
    }
    const { code, body } = await say(known === undefined ? 'POST' : 'PUT', path, { ...each.policy, name });
    if (code === '200' || code === '201') this.#policies.set(name, body);
    else this.counted.refused++;
  }
}

async function live(settings: Readonly<Record<string, string>>): Promise<World['counted']> {
  await using app = await startTestApp({ ...settings, ...WITH_PLATFORM_KEY });
  const world = new World(app);
  for (const name of TENANTS)
    await ask(app, 'POST', '/api/v1/admin/tenants', { key: PLATFORM_KEY, body: { tenantId: name } });
  for (const each of fc.sample(step, { seed: SEED, numRuns: STEPS })) await world.take(each);
  return world.counted;
}

const directoryOf = (name: string) => join(folder, name);
const options = { keys: [], seen: [], isWithoutIndex: true };
type Say = (sql: string) => Promise<readonly Record<string, unknown>[]>;

interface Place {
  readonly settings: Readonly<Record<string, string>>;
  readonly verify: () => Promise<StoreReport>;
  readonly say: Say;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  async SQLite() {
    const directory = directoryOf('sqlite');
    return {
      settings: { Storage__DataDirectory: directory },
      verify: () => checkStore(directory, options),
      async say(sql) {
        using db = new DatabaseSync(join(directory, JOURNAL_FILE));
        return db.prepare(sql).all();
      },
    };
  },
  async PostgreSQL() {
    const url = await server.createDatabase();
    const directory = directoryOf('postgres');
    return {
      settings: { Storage__Url: url, Storage__DataDirectory: directory },
      verify: () => checkDatabase(url, { ...options, directory, setting: 'Storage__Url' }),
      say: (sql) => raw(url, sql),
    };
  },
};

for (const [backend, open] of Object.entries(PLACES))
  test(`what decided about any event under any policies is found again on ${backend}, and a change of it is found`, async (t) => {
    const { settings, verify, say } = await open();
    const { sent, refused } = await live(settings);
    t.diagnostic(`${sent} events, ${refused} requests refused, seed ${SEED}`);
    assert.ok(sent > STEPS / 2);
    const report = await verify();
    assert.deepEqual(report.faults, []);
    assert.equal(report.totals.undecided, 0);
    const [row] = await say('SELECT max(expires_at_ms) AS "until" FROM contents WHERE decision IS NOT NULL');
    const until = String(row!['until']);
    await say(`UPDATE contents SET expires_at_ms = expires_at_ms - 1000 WHERE expires_at_ms = ${until}`);
    const { faults } = await verify();
    assert.match(
      faults[0]?.message ?? '',
      /^entry \d+: expires at \S+; by what has decided about it it expires at /,
    );
    await say(`UPDATE contents SET expires_at_ms = ${until} WHERE expires_at_ms = ${until} - 1000`);
    assert.deepEqual((await verify()).faults, []);
  });
