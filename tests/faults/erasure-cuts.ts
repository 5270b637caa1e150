// P12: the service is killed behind the commits of an erasure, of a person or of a whole tenant. Behind each kill the store verifies;
// the next service finishes the erasure by itself; the same request again is answered by it; nothing is left of what was to go, in
// no file and no row; and every proof that was ever given still verifies.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Erasure, List, PolicyViolation } from '@tallystick/contract';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { until } from '../../packages/server/src/testing/until.ts';
import type { Backend } from './backends.ts';
import { Client, event } from './client.ts';
import { newCanary, tracesOf } from './deletions/traces.ts';
import { requireVerified } from './policies/requirements.ts';
import { KEY, type Service, startService } from './running.ts';

const SCRIPT = join(import.meta.dirname, 'processes/cut-erasures.ts');
const EVENTS = 3;
const COUNTED = {
  name: 'Counted',
  policyType: 'Alert',
  rules: [
    {
      conditions: {},
      effect: { violationType: 'Counted', threshold: { count: 1, window: 'P1D', groupBy: 'payload.note' } },
    },
  ],
};

export type Scope = 'Person' | 'Tenant';
/** Where it is killed: see processes/cut-erasures.ts. */
export type ErasureCut = 'Before' | number;

/** Of so many commits behind the request; the last ones are those of other work, or of none. */
export type CutsAmong = (commits: number) => readonly ErasureCut[];

/** What was there before an erasure, in a tenant of its own. */
interface Known {
  readonly tenant: string;
  readonly canary: string;
  readonly proofs: readonly string[];
}

/** Gives what was cut. */
export async function requireErasuresSurvive(
  open: () => Promise<Backend>,
  scope: Scope,
  cutsAmong: CutsAmong,
): Promise<string> {
  await using backend = await open();
  await using place = new CutPlace(backend);
  await place.start();
  const whole = await place.known('whole');
  const { commits } = await place.erase(whole, scope, undefined);
  await place.requireErased(whole, scope);
  let killed = 0;
  for (const cut of cutsAmong(commits)) {
    const known = await place.known(`cut-${String(cut).toLowerCase()}`);
    if (!(await place.erase(known, scope, cut)).isKilled) continue;
    killed += 1;
    await requireVerified(backend);
    await place.start();
    await place.requireErased(known, scope, cut);
  }
  await place.stop();
  await requireVerified(backend);
  return `killed ${killed} times behind ${commits} commits`;
}

class CutPlace implements AsyncDisposable {
  readonly #backend: Backend;
  readonly #file: string;
  #service: Service | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
    this.#file = join(backend.start.dataDirectory, '..', 'cut');
  }

  async start(): Promise<void> {
    const env = {
      ...this.#backend.start.env,
      CUT_FILE: this.#file,
      Encryption__Classifications: 'Confidential,Secret',
      Log__CheckpointInterval: 'PT0.1S',
    };
    await this.#backend.endLeases?.();
    this.#service = await startService({ ...this.#backend.start, env, script: SCRIPT });
  }

  async stop(): Promise<void> {
    this.#service!.kill('SIGTERM');
    await this.#service!.ended;
    await this.#backend.untilAlone?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service?.[Symbol.asyncDispose]();
  }

  /** Events of a person, in the clear and sealed, what an alert has found in them, and their proofs. */
  async known(tenant: string): Promise<Known> {
    const canary = newCanary();
    await this.#ask('POST', tenant, '/policies', COUNTED);
    const events = Array.from({ length: EVENTS }, (_, i) => ({
      ...event('m'),
      actor: { actorType: 'User', userId: canary, userName: canary },
      classification: i === 0 ? 'Internal' : 'Confidential',
      context: { device: canary },
      payload: { note: `${canary} ${i}` },
    }));
    const body = { events: [...events, { ...event('stays'), payload: { note: 'stays' } }] };
    const sent = await this.#ask<{ results: { eventId: string }[] }>(
      'POST',
      tenant,
      '/audit-events/batch',
      body,
      `send-${tenant}`,
    );
    const proofs: string[] = [];
    for (const { eventId } of sent.results)
      proofs.push(await this.#text(tenant, `/audit-events/${eventId}/proof`));
    await until(async () => (await this.#violations(tenant)).length === EVENTS + 1);
    assert.ok((await tracesOf([canary], this.#backend)).length > 0, 'control: it is there');
    return { tenant, canary, proofs };
  }

  /** Asks for it, and waits until the service is killed, or the erasure has ended. */
  async erase(known: Known, scope: Scope, cut: ErasureCut | undefined) {
    rmSync(`${this.#file}.count`, { force: true });
    writeFileSync(this.#file, cut === undefined ? 'Nowhere' : String(cut));
    const asked = this.#request(known, scope).catch(() => undefined);
    const ended = this.#service!.ended.then((signal) => {
      assert.equal(signal, 'SIGKILL');
      return true;
    });
    const isOver = asked.then(async (erasure) => {
      // It is not answered by one that is killed before.
      if (erasure === undefined) return ended;
      await until(async () => (await this.#shown(known, erasure)).status === 'Completed');
      // The end of the job comes behind that.
      await new Promise((resolve) => setTimeout(resolve, 300));
      return false;
    });
    const isKilled = await Promise.race([ended, isOver.catch(() => ended)]);
    rmSync(this.#file, { force: true });
    if (isKilled) await this.#backend.untilAlone?.();
    const count = `${this.#file}.count`;
    return {
      isKilled,
      commits: existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0,
    };
  }

  async requireErased(known: Known, scope: Scope, cut?: ErasureCut): Promise<void> {
    const { tenant, canary, proofs } = known;
    if (cut !== undefined && cut !== 'Before') {
      // By itself, before anybody asks again.
      await until(async () => (await this.#ask<List<unknown>>('GET', tenant, ENDED)).data.length === 1);
    }
    const { erasureId } = await this.#request(known, scope);
    let erasure: Erasure;
    await until(async () => {
      erasure = await this.#shown(known, { erasureId });
      return erasure.status === 'Completed';
    });
    const erased = scope === 'Person' ? EVENTS : EVENTS + 1;
    const { matchedEvents, erasedEvents, heldEvents } = erasure!;
    assert.deepEqual([matchedEvents, erasedEvents, heldEvents], [erased, erased, 0]);
    assert.equal((await this.#ask<List<unknown>>('GET', tenant, ENDED)).data.length, 1, 'it ends once');
    assert.deepEqual(await tracesOf([canary], this.#backend), [], `${tenant}: it has ended`);
    const violations = await this.#violations(tenant);
    assert.equal(violations.length, scope === 'Person' ? EVENTS + 1 : 0);
    const key = await this.#text(tenant, `/log/t/${tenant}/key`);
    const verifiers = await Promise.all(key.trim().split('\n').map(noteVerifier));
    for (const proof of proofs) await verifyEventProof(parseEventProof(proof), { verifiers });
  }

  /** The same each time. */
  #request({ tenant, canary }: Known, scope: Scope): Promise<Pick<Erasure, 'erasureId'>> {
    const what = scope === 'Person' ? { subject: { userId: canary } } : { tenantId: tenant };
    return this.#ask('POST', tenant, '/erasures', { ...what, reason: 'asked for' }, `erase-${tenant}`);
  }

  #shown({ tenant }: Known, { erasureId }: Pick<Erasure, 'erasureId'>): Promise<Erasure> {
    return this.#ask('GET', tenant, `/erasures/${erasureId}`);
  }

  async #violations(tenant: string): Promise<readonly PolicyViolation[]> {
    return (await this.#ask<List<PolicyViolation>>('GET', tenant, '/violations')).data;
  }

  async #ask<T>(method: string, tenant: string, path: string, body?: object, key?: string): Promise<T> {
    using client = new Client(this.#service!.url);
    const asking = { method, tenant, path: `/api/v1${path}`, body };
    const { status, body: answer } = await client.ask(key === undefined ? asking : { ...asking, key });
    assert.ok(status < 300, `${method} ${path} is answered ${status} ${JSON.stringify(answer)}`);
    return answer as T;
  }

  async #text(tenant: string, path: string): Promise<string> {
    const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': tenant };
    const answer = await fetch(`${this.#service!.url}/api/v1${path}`, { headers });
    assert.equal(answer.status, 200, path);
    return answer.text();
  }
}

const ENDED = '/audit-events?kind=Notice&action=Update.Erasure';
