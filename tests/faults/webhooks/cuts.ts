// Where a service is killed while it has deliveries to make, and what must hold after each cut.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Backend } from '../backends.ts';
import { type Service, startService } from '../running.ts';
import { SIZE } from '../size.ts';
import { DeliveryPlace, WEBHOOK_ENV } from './delivery-place.ts';

const SCRIPT = join(import.meta.dirname, '../processes/cut-deliveries.ts');

/** How long a service may take to get to the place where it is killed. */
const PATIENCE_MS = 60_000;

/** The cut is before this statement, before its commit, or behind its commit. */
export interface Statement {
  readonly statement: string;
  readonly value: string;
}

/** By name. */
const STATEMENTS: Readonly<Record<string, Statement>> = {
  'the position behind what was matched': {
    statement: 'UPDATE positions SET next_index',
    value: 'Notifications',
  },
  'a delivery that is queued': { statement: 'INSERT INTO jobs', value: 'Delivery' },
  'the claim, before anybody is connected to': {
    statement: "UPDATE jobs SET state = 'Held'",
    value: 'Delivery',
  },
  'the outcome, after the consumer has answered 200': {
    statement: "UPDATE jobs SET state = 'Done', result",
    value: 'acme',
  },
  'the move to the dead letters': {
    statement: "UPDATE jobs SET state = 'Dead', is_letter = 1, reason",
    value: 'acme',
  },
};
/** The short form leaves out cuts before a statement: they leave the same as those before its commit. */
const WHERE = (['Before', 'AtCommit', 'Behind'] as const).slice(SIZE.isLong ? 0 : 1);
export type Where = (typeof WHERE)[number];
export const IN_WORDS = { Before: 'before', AtCommit: 'at the commit of', Behind: 'behind the commit of' };
/** Spelled the same for both backends. */
const REVIVAL: Statement = {
  statement: "UPDATE jobs SET state = 'Waiting', attempts = 0",
  value: 'Delivery',
};
const RECOVERED: Statement = { statement: "UPDATE jobs SET state = 'Done', result", value: 'acme' };

export class CutPlace implements AsyncDisposable {
  readonly deliveries: DeliveryPlace;
  readonly #file: string;
  #service: Service | undefined;

  constructor(deliveries: DeliveryPlace) {
    this.deliveries = deliveries;
    this.#file = join(deliveries.backend.start.dataDirectory, '..', 'cut');
  }

  async start(): Promise<Service> {
    rmSync(this.#file, { force: true });
    const { dataDirectory, env } = this.deliveries.backend.start;
    const ownEnv = { ...env, ...WEBHOOK_ENV, CUT_FILE: this.#file };
    return (this.#service = await startService({ dataDirectory, script: SCRIPT, env: ownEnv }));
  }

  /** One that runs already, if there is one. */
  async running(): Promise<Service> {
    return this.#service ?? this.start();
  }

  cutAt(cut: Statement & { readonly where: Where }): void {
    writeFileSync(this.#file, JSON.stringify(cut));
  }

  /** Waits until it is killed, and ends its leases. */
  async killed(service: Service): Promise<void> {
    const ended = await Promise.race([service.ended, pause(PATIENCE_MS, 'still running', { ref: false })]);
    assert.equal(ended, 'SIGKILL', service.diagnostics());
    this.#service = undefined;
    await this.deliveries.backend.untilAlone?.();
    await this.deliveries.backend.endLeases?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service?.[Symbol.asyncDispose]();
    await this.deliveries[Symbol.asyncDispose]();
  }
}

/** The cuts at a statement, by its number. */
export type WhereOf = (statement: number) => readonly Where[];
export const EVERYWHERE: WhereOf = () => WHERE;
/** Behind every second statement: where the other backend is cut at each of them. */
export const NOW_AND_THEN: WhereOf = (statement) => (statement % 2 === 0 ? [] : [WHERE.at(-1)!]);
/** One cut at each statement, alternately at the commit and behind it: for a backend on which each cut takes long. */
export const IN_TURN: WhereOf = (statement) => [WHERE.at(statement % 2 === 0 ? -2 : -1)!];

/** Kills the service at each place in turn, on the same data. In the end it owes nothing. */
export async function requireNoneLostByCuts(
  t: TestContext,
  open: () => Promise<Backend>,
  whereOf: WhereOf,
): Promise<void> {
  await using place = new CutPlace(await DeliveryPlace.open(open));
  const { deliveries } = place;
  {
    await using first = await place.start();
    await deliveries.subscribe(first.url);
  }
  await place.deliveries.backend.untilAlone?.();
  for (const [number, [name, statement]] of Object.entries(STATEMENTS).entries())
    for (const where of whereOf(number)) {
      const service = await place.start();
      place.cutAt({ ...statement, where });
      await deliveries.send(service.url, `${IN_WORDS[where]} ${name}`);
      await place.killed(service);
    }
  await cutWhenSent(place);
  await cutRecoveries(place, whereOf);
  const service = await place.running();
  t.diagnostic(await deliveries.requireAll(service.url));
}

async function cutWhenSent(place: CutPlace): Promise<void> {
  const { deliveries } = place;
  const { consumer } = deliveries;
  const service = await place.start();
  const { reply } = consumer;
  consumer.reply = () => () => service.kill('SIGKILL');
  await deliveries.send(service.url, 'after it was sent, before it was answered');
  await place.killed(service);
  consumer.reply = reply;
}

async function cutRecoveries(place: CutPlace, whereOf: WhereOf): Promise<void> {
  const { deliveries } = place;
  for (const [number, statement] of [REVIVAL, RECOVERED].entries())
    for (const where of whereOf(number)) {
      const service = await place.running();
      await deliveries.send(service.url, 'before a recovery');
      await deliveries.requireAll(service.url);
      place.cutAt({ ...statement, where });
      const operationId = await deliveries.recover(service.url);
      await place.killed(service);
      const next = await place.start();
      if (operationId !== undefined) await deliveries.untilCompleted(next.url, operationId);
    }
}
