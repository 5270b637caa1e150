// A service whose events are deleted in every way there is, and what must be left of each of them.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { until } from '../../../packages/server/src/testing/until.ts';
import type { Backend } from '../backends.ts';
import { type Ask, Client, type Reply } from '../client.ts';
import { COMMAND, KEY, type Service, startService } from '../running.ts';
import { chanceFrom } from '../tamper/byte-changes.ts';

const run = promisify(execFile);

/** Fields that redactions are about; each event has all of them. */
const FIELDS = ['payload.iban', 'payload.note', 'context.device'] as const;
/** Content of this resource type expires at once, other content never while the test runs. */
const SHORT_LIVED = 'Cart';
const PEOPLE = ['ana', 'ben', 'eva'] as const;
const SETTINGS = {
  Encryption__Classifications: 'Confidential,Secret',
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};

interface KnownEvent {
  readonly eventId: string;
  readonly person: string;
  readonly sequence: number;
  readonly isShortLived: boolean;
  /** The fields that are gone for good. */
  readonly gone: Set<string>;
  isErased: boolean;
  /** It is erased when its last hold ends. */
  isErasureOwed: boolean;
  /** It was purged before a hold could cover it. */
  isPurged: boolean;
}

interface KnownHold {
  readonly holdId: string;
  readonly covers: (event: KnownEvent) => boolean;
}

export class DeletionWorld implements AsyncDisposable {
  readonly #backend: Backend;
  readonly #chance: (below: number) => number;
  readonly #events: KnownEvent[] = [];
  readonly #holds: KnownHold[] = [];
  readonly #proofs = new Map<string, string>();
  readonly #steps = new Map<string, number>();
  #service!: Service;
  #client!: Client;
  #verifier!: Awaited<ReturnType<typeof noteVerifier>>;

  private constructor(backend: Backend, seed: number) {
    this.#backend = backend;
    this.#chance = chanceFrom(seed);
  }

  static async open(backend: Backend, seed: number): Promise<DeletionWorld> {
    const world = new DeletionWorld(backend, seed);
    await world.#start();
    const rules = [
      { conditions: { 'resource.resourceType': SHORT_LIVED }, effect: { retentionPeriod: 'PT1S' } },
    ];
    const policy = { name: 'short', policyType: 'Retention', rules };
    await world.#done(201, { path: '/api/v1/policies', body: policy });
    await world.#send();
    await world.#setVerifier();
    return world;
  }

  get proofCount(): number {
    return this.#proofs.size;
  }

  get goneCount(): number {
    return this.#events.filter(({ gone, isErased }) => gone.size > 0 || isErased).length;
  }

  account(): string {
    return [...this.#steps].map(([name, count]) => `${name} ${count}`).join(', ');
  }

  async step(): Promise<void> {
    const turns: [string, number, () => Promise<void>][] = [
      ['send', 6, () => this.#send()],
      ['prove', 5, () => this.#prove()],
      ['redact', 4, () => this.#redact()],
      ['hold', 2, () => this.#hold()],
      ['release', 2, () => this.#release()],
      ['erase', 1, () => this.#erase()],
      ['look', 5, () => this.#look()],
      ['kill', 1, () => this.#restart('SIGKILL')],
      ['stop', 1, () => this.#restart('SIGTERM')],

      ['rotate', 1, () => this.#rotate()],
      ['verify', 1, () => this.verify()],
    ];
    let at = this.#chance(turns.reduce((sum, [, weight]) => sum + weight, 0));
    const [name, , take] = turns.find(([, weight]) => (at -= weight) < 0)!;
    this.#steps.set(name, (this.#steps.get(name) ?? 0) + 1);
    await take();
    for (const proof of this.#proofs.values())
      await verifyEventProof(parseEventProof(proof), { verifiers: [this.#verifier] });
  }

  /** Everything that is due and not held is gone in the end. */
  async settle(): Promise<void> {
    const due = this.#events.filter((event) => event.isShortLived && !this.#isHeld(event));
    for (const { eventId } of due)
      await until(async () => 'purgedAt' in ((await this.#get(eventId)).body as object));
    for (const event of this.#events) await this.#requireAsKnown(event);
  }

  async verify(): Promise<void> {
    const { dataDirectory, env } = this.#backend.start;
    const settings = { Storage__DataDirectory: dataDirectory, Environment: 'Test', ...env, ...SETTINGS };
    const { stdout } = await this.#command(['verify', dataDirectory], settings);
    assert.match(stdout, /^verified/m);
  }

  async #command(args: readonly string[], settings: Readonly<Record<string, string>>) {
    return run(process.execPath, ['--conditions=source', COMMAND, ...args], {
      env: { ...process.env, ...settings },
    }).catch((error: { stdout: string; stderr: string }) =>
      assert.fail(`${args.join(' ')}: ${error.stdout}${error.stderr}`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]();
    await this.#service[Symbol.asyncDispose]();
  }

  #isHeld(event: KnownEvent): boolean {
    return !event.isPurged && this.#holds.some(({ covers }) => covers(event));
  }

  #any<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : of[this.#chance(of.length)];
  }

  async #ask(ask: Ask): Promise<Reply> {
    return this.#client.ask(ask);
  }

  async #done(status: number, ask: Ask): Promise<Record<string, unknown>> {
    const reply = await this.#ask(ask);
    assert.equal(reply.status, status, `${ask.path}: ${JSON.stringify(reply.body)}`);
    return reply.body as Record<string, unknown>;
  }

  #get(eventId: string): Promise<Reply> {
    return this.#ask({ method: 'GET', path: `/api/v1/audit-events/${eventId}` });
  }

  async #send(): Promise<void> {
    const sent = Array.from({ length: 1 + this.#chance(4) }, () => {
      const person = this.#any(PEOPLE)!;
      const isShortLived = this.#chance(3) === 0;
      return {
        person,
        isShortLived,
        event: {
          timestamp: '2026-01-02T03:04:05.678Z',
          actor: { actorType: 'User', userId: person },
          action: 'Approve.Invoice',
          resource: {
            resourceType: isShortLived ? SHORT_LIVED : 'Invoice',
            resourceId: `r-${this.#chance(9)}`,
          },
          classification: this.#any(['Internal', 'Confidential', 'Secret'])!,
          context: { device: `device-${this.#chance(99)}` },
          payload: { iban: `DE${this.#chance(1e9)}`, note: `note ${this.#chance(1e6)}`, kept: true },
        },
      };
    });
    const body = { events: sent.map(({ event }) => event) };
    const { results } = await this.#done(201, { path: '/api/v1/audit-events/batch', body });
    for (const [i, { eventId }] of (results as { eventId: string }[]).entries()) {
      const { person, isShortLived } = sent[i]!;
      const { sequence } = (await this.#get(eventId)).body as { sequence: number };
      this.#events.push({
        eventId,
        person,
        isShortLived,
        sequence,
        gone: new Set(),
        isErased: false,
        isErasureOwed: false,
        isPurged: false,
      });
    }
  }

  async #prove(): Promise<void> {
    const event = this.#any(this.#events);
    if (event === undefined) return;
    const path = `/api/v1/audit-events/${event.eventId}/proof`;
    const reply = await this.#ask({ method: 'GET', path });
    if (reply.status === 200)
      this.#proofs.set(`${event.eventId} ${this.#proofs.size}`, JSON.stringify(reply.body));
    else assert.ok(event.isShortLived && reply.status === 404, JSON.stringify(reply.body));
  }

  async #redact(): Promise<void> {
    const event = this.#any(this.#events);
    if (event === undefined) return;
    const field = this.#any(FIELDS)!;
    await this.#lookAt(event);
    const path = `/api/v1/audit-events/${event.eventId}/redact`;
    const { status, body } = await this.#ask({ path, body: { fields: [field], reason: 'asked for' } });
    if (status === 404) return assert.ok(event.isShortLived && !this.#isHeld(event), JSON.stringify(body));
    if (event.gone.has(field) || event.isErased || (status === 422 && event.isErasureOwed))
      return assert.ok(status === 422 || (status === 409 && this.#isHeld(event)), JSON.stringify(body));
    assert.equal(status, this.#isHeld(event) ? 409 : 200, JSON.stringify(body));
    if (status === 200) event.gone.add(field);
    await this.#requireAsKnown(event);
  }

  async #hold(): Promise<void> {
    const person = this.#any(PEOPLE)!;
    const from = 1 + this.#chance(100);
    const isByRange = this.#chance(2) === 0;
    const range = { fromSequence: from, toSequence: from + 20 };
    const what = isByRange ? { range } : { conditions: { 'actor.userId': person } };
    const body = { name: `hold ${this.#chance(1e9)}`, reason: 'a court', ...what };
    const { holdId } = (await this.#done(201, { path: '/api/v1/legal-holds', body })) as { holdId: string };
    const covers = (event: KnownEvent) =>
      isByRange
        ? range.fromSequence <= event.sequence && event.sequence <= range.toSequence
        : event.person === person && !event.isErased;
    // From the answer on, nothing that it covers goes.
    for (const event of this.#events) if (covers(event)) await this.#lookAt(event);
    this.#holds.push({ holdId, covers });
  }

  async #release(): Promise<void> {
    const hold = this.#any(this.#holds);
    if (hold === undefined) return;
    this.#holds.splice(this.#holds.indexOf(hold), 1);
    const path = `/api/v1/legal-holds/${hold.holdId}/release`;
    await this.#done(200, { path, body: { reason: 'it is over' } });
  }

  async #erase(): Promise<void> {
    const person = this.#any(PEOPLE)!;
    const body = { subject: { userId: person }, reason: 'article 17' };
    const { erasureId } = await this.#done(202, { path: '/api/v1/erasures', body });
    const held = this.#events.filter((event) => event.person === person && this.#isHeld(event)).length;
    const path = `/api/v1/erasures/${String(erasureId)}`;
    const look = async () =>
      (await this.#done(200, { method: 'GET', path })) as { status: string; heldEvents?: number };
    await until(async () => {
      const { status, heldEvents = 0 } = await look();
      return status === 'Completed' || (held > 0 && heldEvents > 0);
    });
    for (const event of this.#events)
      if (event.person === person) {
        if (this.#isHeld(event)) event.isErasureOwed = true;
        else event.isErased = true;
      }
  }

  async #look(): Promise<void> {
    const event = this.#any(this.#events);
    if (event !== undefined) await this.#requireAsKnown(event);
  }

  async #rotate(): Promise<void> {
    const { dataDirectory, env } = this.#backend.start;
    await this.#command(['keys', 'rotate-data'], {
      Storage__DataDirectory: dataDirectory,
      Environment: 'Test',
      ...env,
      ...SETTINGS,
    });
  }

  /** What the sweep and what is owed may have done meanwhile, which nothing that is asked for has to wait for. */
  async #lookAt(event: KnownEvent): Promise<void> {
    const body = (await this.#get(event.eventId)).body as { purgedAt?: string; actor?: { userId?: string } };
    if (body.purgedAt !== undefined) event.isPurged ||= event.isShortLived && !this.#isHeld(event);
    else if (body.actor?.userId === undefined && event.isErasureOwed && !this.#isHeld(event))
      event.isErased = true;
  }

  /** What is gone stays gone, and what is held stays. */
  async #requireAsKnown(event: KnownEvent): Promise<void> {
    await this.#lookAt(event);
    const { status, body } = await this.#get(event.eventId);
    assert.equal(status, 200, JSON.stringify(body));
    const seen = body as Record<string, Record<string, unknown> | undefined>;
    if ('purgedAt' in seen)
      return assert.ok(event.isShortLived && !this.#isHeld(event), `${event.eventId} is purged`);
    const { actor, payload = {}, context = {} } = seen;
    const found = {
      'payload.iban': payload['iban'],
      'payload.note': payload['note'],
      'context.device': context['device'],
    };
    for (const field of FIELDS) {
      const isGone = event.gone.has(field) || event.isErased;
      const isThere = found[field] !== undefined && found[field] !== '[REDACTED]';
      assert.equal(isThere, !isGone, `${field} of ${event.eventId}: ${JSON.stringify(body)}`);
    }
    assert.equal(actor?.['userId'] === event.person, !event.isErased, JSON.stringify(actor));
  }

  async #start(): Promise<void> {
    const { start } = this.#backend;
    this.#service = await startService({ ...start, env: { ...start.env, ...SETTINGS } });
    this.#client = new Client(this.#service.url, 8);
  }

  async #restart(signal: NodeJS.Signals): Promise<void> {
    this.#client[Symbol.dispose]();
    this.#service.kill(signal);
    await this.#service.ended;
    await this.#backend.untilAlone?.();
    await this.#start();
  }

  async #setVerifier(): Promise<void> {
    const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' };
    const answer = await fetch(`${this.#service.url}/api/v1/log/t/acme/key`, { headers });
    this.#verifier = await noteVerifier((await answer.text()).trim());
  }
}
