// Where a service is killed while it tests a consumer whose circuit is open, or while it opens, closes or empties the lane of a changed
// subscription; and what must hold after each cut.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { until } from '../../../packages/server/src/testing/until.ts';
import { noteOf } from '../../../packages/server/src/webhooks/lane-circuits.ts';
import type { Backend } from '../backends.ts';
import type { Service } from '../running.ts';
import { CutPlace, IN_WORDS, type Statement, type WhereOf } from './cuts.ts';
import { DeliveryPlace } from './delivery-place.ts';

const CLAIM = "UPDATE jobs SET state = 'Held'";
const OPENING: Statement = { statement: 'UPDATE lanes SET is_open = 1', value: 'Delivery' };
const ENDED: Statement = { statement: 'DELETE FROM jobs WHERE tenant_id', value: 'acme' };

interface ProbeCut extends Statement {
  /** What the consumer answers once its circuit is open; undefined: the cut comes while it is opened. */
  readonly answers: number | undefined;
  readonly status: 'Active' | 'Failed';
}

/** By name. */
const PROBES: Readonly<Record<string, ProbeCut>> = {
  'the failure that opens the circuit': {
    statement: 'INSERT INTO jobs',
    value: 'Probe',
    answers: undefined,
    status: 'Active',
  },
  'the claim of a test delivery': { statement: CLAIM, value: 'Probe', answers: 200, status: 'Active' },
  'a test delivery that fails': {
    statement: "UPDATE jobs SET state = 'Later', is_retry = 1",
    value: 'the consumer answered 500',
    answers: 500,
    status: 'Active',
  },
  'a test delivery that arrives': { ...OPENING, answers: 200, status: 'Active' },
  'a test delivery that ends it for good': {
    statement: 'UPDATE lanes SET is_open = 0',
    // The note of the lane, of the round that the subscription is in.
    value: 'Failed',
    answers: 410,
    status: 'Failed',
  },
};

const PAUSES: Readonly<Record<string, Statement>> = {
  'the job of a pause': { statement: 'INSERT INTO jobs', value: 'Gate' },
  'the claim of that job': { statement: CLAIM, value: 'Gate' },
  'what closes the lane': { statement: 'INSERT INTO lanes', value: 'Delivery' },
  'the end of that job': ENDED,
};
const RESUMPTIONS: Readonly<Record<string, Statement>> = {
  'what opens the lane': OPENING,
  'the end of the job of a resumption': ENDED,
};
const REMOVALS: Readonly<Record<string, Statement>> = {
  'what removes deliveries': { statement: "AND lane <> '' AND state <> 'Held'", value: 'Delivery' },
  'what removes the lane': { statement: 'DELETE FROM lanes', value: 'Delivery' },
  'the end of the job of a removal': ENDED,
};

interface Cuts extends AsyncDisposable {
  readonly place: CutPlace;
  /** For each cut: has the service killed there, and starts the next one, which is killed at the next cut. */
  each<S extends Statement>(
    statements: Readonly<Record<string, S>>,
    doing: (
      service: Service,
      cut: (value?: string) => void,
      statement: S,
      marker: string,
    ) => Promise<unknown>,
    after: (next: Service, statement: S) => Promise<unknown>,
  ): Promise<void>;
}

async function cutting(open: () => Promise<Backend>, whereOf: WhereOf): Promise<Cuts> {
  const place = new CutPlace(await DeliveryPlace.open(open));
  return {
    place,
    async each(statements, doing, after) {
      for (const [number, [name, statement]] of Object.entries(statements).entries())
        for (const where of whereOf(number)) {
          const marker = `${IN_WORDS[where]} ${name}`;
          const service = await place.running();
          const cut = (value = statement.value) =>
            place.cutAt({ statement: statement.statement, value, where });
          await doing(service, cut, statement, marker);
          await place.killed(service).catch((error: unknown) => {
            throw new Error(`it is not killed ${marker}`, { cause: error });
          });
          const next = await place.start();
          await after(next, statement);
        }
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

/** A test delivery that was cut off is repeated: no circuit stays open, and nothing that waits for it is lost. */
export async function requireProbesSurvive(
  t: TestContext,
  open: () => Promise<Backend>,
  whereOf: WhereOf,
): Promise<void> {
  await using cuts = await cutting(open, whereOf);
  const { place } = cuts;
  const { deliveries } = place;
  const { consumer } = deliveries;
  const healthy = consumer.reply;
  const statusOf = async ({ url }: Service) => (await deliveries.standing(url))!.status;
  let report = '';
  let round = 1;
  await deliveries.subscribe((await place.running()).url);
  await cuts.each(
    PROBES,
    async (service, cut, { answers, status }, marker) => {
      consumer.reply = () => 500;
      if (answers === undefined) cut();
      for (let i = 0; i < 4; i++) if (!(await deliveries.send(service.url, marker))) return;
      if (answers === undefined) return;
      await until(async () => (await statusOf(service)) === 'Paused');
      consumer.reply = () => answers;
      cut(status === 'Failed' ? noteOf({ round, state: 'Failed' }) : undefined);
    },
    async (next, { status }) => {
      if (status === 'Active') consumer.reply = healthy;
      await until(async () => (await statusOf(next)) === status);
      consumer.reply = healthy;
      if (status === 'Failed') {
        await deliveries.change(next.url, 'resume');
        round += 1;
      }
      report = await deliveries.requireAll(next.url);
      assert.equal(await statusOf(next), 'Active');
    },
  );
  t.diagnostic(report);
}

/** A change that was answered or stored takes effect, wherever the service is killed. */
export async function requireGatesSurvive(
  t: TestContext,
  open: () => Promise<Backend>,
  whereOf: WhereOf,
): Promise<void> {
  await using cuts = await cutting(open, whereOf);
  const { place } = cuts;
  const { deliveries } = place;
  const { consumer } = deliveries;
  const unless = async ({ url }: Service, act: 'pause' | 'resume', status: string) => {
    if ((await deliveries.standing(url))!.status !== status) await deliveries.change(url, act);
  };
  await deliveries.subscribe((await place.running()).url);
  await cuts.each(
    PAUSES,
    async ({ url }, cut) => {
      cut();
      await deliveries.change(url, 'pause');
    },
    async (next, statement) => {
      await unless(next, 'pause', 'Paused');
      const before = consumer.got.length;
      await deliveries.send(next.url, 'while it is paused');
      await until(async () => (await deliveries.count(next.url, 'Queued')) === 3);
      assert.equal(consumer.got.length, before, statement.statement);
      await deliveries.change(next.url, 'resume');
      await deliveries.requireAll(next.url);
    },
  );
  await cuts.each(
    RESUMPTIONS,
    async (service, cut) => {
      await deliveries.change(service.url, 'pause');
      await deliveries.send(service.url, 'before a resumption');
      await until(async () => (await deliveries.count(service.url, 'Queued')) === 3);
      cut();
      await deliveries.change(service.url, 'resume');
    },
    async (next) => {
      await unless(next, 'resume', 'Active');
      t.diagnostic(await deliveries.requireAll(next.url));
    },
  );
}

/** Nothing is left of a deleted subscription: neither waiting deliveries nor dead letters. */
export async function requireRemovalsSurvive(open: () => Promise<Backend>, whereOf: WhereOf): Promise<void> {
  await using cuts = await cutting(open, whereOf);
  const { deliveries } = cuts.place;
  await cuts.each(
    REMOVALS,
    async ({ url }, cut) => {
      await deliveries.subscribe(url);
      await deliveries.send(url, 'before its subscription goes');
      await until(async () => (await deliveries.letterCount(url)) === 1);
      await deliveries.change(url, 'pause');
      await deliveries.send(url, 'that waits');
      await until(async () => (await deliveries.count(url, 'Queued')) === 3);
      cut();
      await deliveries.change(url, 'delete');
    },
    async ({ url }) => {
      const got = deliveries.consumer.got.length;
      if ((await deliveries.standing(url)) !== undefined) await deliveries.change(url, 'delete');
      await until(async () => (await deliveries.letterCount(url)) === 0);
      assert.equal(deliveries.consumer.got.length, got);
    },
  );
}
