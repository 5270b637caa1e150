// A service whose events are deleted in every way there is, and what must be left of each of them.

import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { until } from '../../../packages/server/src/testing/until.ts';
import type { Backend, StoreCopy } from '../backends.ts';
import { chanceFrom } from '../tamper/byte-changes.ts';
import {
  copyOf,
  type Field,
  FIELDS,
  goneWords,
  isTombstone,
  knownEvent,
  type KnownEvent,
  type KnownHold,
  newWords,
  SHORT_LIVED,
} from './model.ts';
import { type KnownHead, Proofs } from './proofs.ts';
import { Served, type ServedOptions } from './served.ts';
import { tracesOf } from './traces.ts';

const PEOPLE = ['ana', 'ben', 'eva'] as const;
const PROOFS_COMPARED = 3;
const OVERLAP_SECONDS = 2;
/** Enough for a large pool. */
const OF_NOBODY = Array.from({ length: 130 }, () => ({
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'System' },
  action: 'Approve.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'of-nobody' },
  classification: 'Confidential',
  payload: { kept: true },
}));

interface KnownCopy {
  readonly store: StoreCopy;
  readonly events: readonly KnownEvent[];
  readonly holds: readonly KnownHold[];
  /** Signed before. */
  readonly head: KnownHead | undefined;
}

type Verb = readonly [name: string, weight: number, take: () => Promise<void>];

export class DeletionWorld implements AsyncDisposable {
  readonly #backend: Backend;
  readonly #chance: (below: number) => number;
  readonly #served: Served;
  readonly #proofs = new Proofs();
  readonly #steps = new Map<string, number>();
  readonly #verbs: readonly Verb[] = [
    ['send', 12, () => this.#send()],
    ['send many', 1, () => this.#sendMany()],
    ['prove', 10, () => this.#prove()],
    ['redact', 8, () => this.#redact()],
    ['hold', 4, () => this.#hold()],
    ['release', 4, () => this.#release()],
    ['erase', 2, () => this.#erase()],
    ['erase the tenant', 1, () => this.#eraseTenant()],
    ['look', 10, () => this.#look()],
    ['kill', 2, () => this.#restart('SIGKILL')],
    ['stop', 2, () => this.#restart('SIGTERM')],
    ['rotate', 2, () => this.#rotate('rotate-data')],
    ['rotate the signing key', 1, () => this.#rotate('rotate-signing', '--overlap', `${OVERLAP_SECONDS}s`)],
    ['copy', 2, () => this.#copy()],
    ['restore', 1, () => this.#restore()],
    ['verify', 2, () => this.#served.verify()],
  ];
  #events: KnownEvent[] = [];
  #holds: KnownHold[] = [];
  #copies: KnownCopy[] = [];
  #origin = '';

  private constructor(backend: Backend, seed: number, options: ServedOptions) {
    this.#backend = backend;
    this.#chance = chanceFrom(seed);
    this.#served = new Served(backend, options);
  }

  static async open(backend: Backend, seed: number, options: ServedOptions = {}): Promise<DeletionWorld> {
    const world = new DeletionWorld(backend, seed, options);
    await world.#served.start();
    const rules = [
      { conditions: { 'resource.resourceType': SHORT_LIVED }, effect: { retentionPeriod: 'PT1S' } },
    ];
    const policy = { name: 'short', policyType: 'Retention', rules };
    await world.#served.done(201, { path: '/api/v1/policies', body: policy });
    await world.#send();
    world.#origin = await world.#proofs.learnKeys(world.#served);
    return world;
  }

  get proofCount(): number {
    return this.#proofs.count;
  }

  get goneCount(): number {
    return this.#events.filter((event) => goneWords(event).length > 0).length;
  }

  account(): string {
    return [...this.#steps].map(([name, count]) => `${name} ${count}`).join(', ');
  }

  async step(): Promise<void> {
    let at = this.#chance(this.#verbs.reduce((sum, [, weight]) => sum + weight, 0));
    await this.#take(this.#verbs.find(([, weight]) => (at -= weight) < 0)!);
  }

  /** By name, one after the other. */
  async steps(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.#take(this.#verbs.find(([each]) => each === name)!);
  }

  /** What chance has left out. */
  async stepEach(): Promise<void> {
    for (const verb of this.#verbs) if (!this.#steps.has(verb[0])) await this.#take(verb);
  }

  async #take([name, , take]: Verb): Promise<void> {
    this.#steps.set(name, (this.#steps.get(name) ?? 0) + 1);
    try {
      await take();
      await this.#proofs.verify(this.#served);
      await this.#proofs.compare(this.#served, PROOFS_COMPARED, this.#isThere);
    } catch (error) {
      throw new Error(`at the step ${this.account()}`, { cause: error });
    }
  }

  /** Everything that is due and not held is gone in the end, in the store as well. */
  async settle(patienceMs = 60_000): Promise<void> {
    const due = this.#events.filter(
      (event) => event.isShortLived && !event.isFrozen && !isTombstone(event) && !this.#isHeld(event),
    );
    for (const { eventId } of due)
      await until(async () => 'purgedAt' in ((await this.#get(eventId)).body as object));
    for (const event of this.#events) await this.#requireAsKnown(event);
    await this.#proofs.compare(this.#served, Infinity, this.#isThere);
    await this.#served.verify();
    // The index is cleaned some time behind a purge.
    for (const endMs = Date.now() + patienceMs; ; await setTimeout(200)) {
      const left = await tracesOf(this.#events.flatMap(goneWords), this.#backend);
      if (left.length === 0) return;
      assert.ok(Date.now() < endMs, `of what is gone, ${left.join(', ')}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#served[Symbol.asyncDispose]();
  }

  readonly #isThere = (eventId: string) => this.#events.some((event) => event.eventId === eventId);

  #isHeld(event: KnownEvent): boolean {
    return !isTombstone(event) && this.#holds.some(({ covers }) => covers(event));
  }

  #any<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : of[this.#chance(of.length)];
  }

  #get(eventId: string) {
    return this.#served.ask({ method: 'GET', path: `/api/v1/audit-events/${eventId}` });
  }

  /** The boxes of a large pool are made ahead of the writer, once that has handed on the keys for the one before. */
  async #sendMany(): Promise<void> {
    for (let i = 0; i < 2; i++) await this.#send(OF_NOBODY);
  }

  async #send(others: readonly object[] = []): Promise<void> {
    const sent = Array.from({ length: 1 + this.#chance(4) }, () => ({
      person: this.#any(PEOPLE)!,
      isShortLived: this.#chance(3) === 0,
      words: newWords(),
    }));
    const events = sent.map(({ person, isShortLived, words }) => ({
      timestamp: '2026-01-02T03:04:05.678Z',
      actor: { actorType: 'User', userId: person },
      action: 'Approve.Invoice',
      resource: {
        resourceType: isShortLived ? SHORT_LIVED : 'Invoice',
        resourceId: `r-${this.#chance(9)}`,
      },
      classification: this.#any(['Internal', 'Confidential', 'Secret'])!,
      context: { device: words['context.device'] },
      payload: { iban: words['payload.iban'], note: `note ${words['payload.note']}`, kept: true },
    }));
    const asking = { path: '/api/v1/audit-events/batch', body: { events: [...events, ...others] } };
    const { results } = await this.#served.done<{ results: { eventId: string }[] }>(201, asking);
    for (const [i, each] of sent.entries()) {
      const { eventId } = results[i]!;
      const { sequence } = (await this.#get(eventId)).body as { sequence: number };
      this.#events.push(knownEvent({ ...each, eventId, sequence }));
    }
  }

  async #prove(): Promise<void> {
    const event = this.#any(this.#events);
    if (event === undefined) return;
    const path = `/audit-events/${event.eventId}/proof`;
    if (event.isFrozen) {
      const { status, body } = await this.#served.ask({ method: 'GET', path: `/api/v1${path}` });
      // What the copy had not signed yet is proven no more.
      if (status === 404) return assert.match(JSON.stringify(body), /it was never signed under/);
    }
    this.#proofs.keep(event.eventId, await this.#served.text(path));
  }

  async #redact(): Promise<void> {
    const event = this.#any(this.#events);
    if (event === undefined) return;
    const field = this.#any(FIELDS)!;
    await this.#lookAt(event);
    const path = `/api/v1/audit-events/${event.eventId}/redact`;
    const body = { fields: [field], reason: 'asked for' };
    const { status, body: told } = await this.#served.ask({ path, body });
    const said = JSON.stringify(told);
    if (status === 404) return assert.ok(isTombstone(event) || this.#mayGo(event), said);
    if (event.isFrozen) return assert.equal(status, 422, said);
    if (event.gone.has(field) || event.isErased || (status === 422 && event.isErasureOwed))
      return assert.ok(status === 422 || (status === 409 && this.#isHeld(event)), said);
    assert.equal(status, this.#isHeld(event) ? 409 : 200, said);
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
    const { holdId } = await this.#served.done<{ holdId: string }>(201, {
      path: '/api/v1/legal-holds',
      body,
    });
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
    await this.#served.done(200, { path, body: { reason: 'it is over' } });
  }

  async #erase(): Promise<void> {
    const person = this.#any(PEOPLE)!;
    const isOfPerson = (event: KnownEvent) => event.person === person && !isTombstone(event);
    await this.#erased({ subject: { userId: person } }, isOfPerson);
    for (const event of this.#events.filter(isOfPerson)) {
      if (event.isFrozen) continue;
      if (this.#isHeld(event)) event.isErasureOwed = true;
      else event.isErased = true;
    }
  }

  /** No copy from before can be read any more where the keys of its content are destroyed. */
  async #eraseTenant(): Promise<void> {
    this.#copies = [];
    const isThere = (event: KnownEvent) => !isTombstone(event);
    await this.#erased({ tenantId: 'acme' }, isThere);
    for (const event of this.#events.filter(isThere)) {
      if (event.isFrozen) continue;
      if (this.#isHeld(event)) event.isGoneOwed = true;
      else event.isGone = true;
    }
  }

  /** Waits until only what is held is left of these. */
  async #erased(scope: object, isMeant: (event: KnownEvent) => boolean): Promise<void> {
    const asking = { path: '/api/v1/erasures', body: { ...scope, reason: 'article 17' } };
    const { erasureId } = await this.#served.done<{ erasureId: string }>(202, asking);
    const path = `/api/v1/erasures/${erasureId}`;
    await until(async () => {
      const asked = { method: 'GET', path };
      const told = await this.#served.done<{ status: string; heldEvents?: number }>(200, asked);
      if (told.status === 'Completed') return true;
      const meant = this.#events.filter((event) => isMeant(event));
      if (told.status === 'Failed') return meant.some(({ isFrozen }) => isFrozen);
      return meant.some((event) => this.#isHeld(event)) && (told.heldEvents ?? 0) > 0;
    });
  }

  async #look(): Promise<void> {
    const event = this.#any(this.#events);
    if (event !== undefined) await this.#requireAsKnown(event);
  }

  async #restart(signal: NodeJS.Signals): Promise<void> {
    await this.#served.end(signal);
    await this.#served.start();
  }

  async #rotate(...what: readonly string[]): Promise<void> {
    await this.#served.command('keys', ...what);
    // Until then the old key signs as well, and is not changed again.
    if (what.includes('--overlap')) await setTimeout(OVERLAP_SECONDS * 1000);
    await this.#proofs.learnKeys(this.#served);
  }

  async #copy(): Promise<void> {
    const [events, holds] = [copyOf(this.#events), [...this.#holds]];
    const { head } = this.#proofs;
    this.#copies.push({ store: await this.#served.copy(), events, holds, head });
  }

  /** What was sent since is lost, and what was deleted since is there again; a log of which more was signed ends there. */
  async #restore(): Promise<void> {
    if (this.#copies.length === 0) {
      await this.#copy();
      await this.#send();
    }
    const { store, events, holds, head } = this.#any(this.#copies)!;
    await this.#served.putBack(store);
    this.#events = copyOf(events);
    this.#holds = [...holds];
    const origin = await this.#proofs.learnKeys(this.#served);
    // Between the look of the test and the copy, what was due may have gone.
    for (const event of this.#events) await this.#lookAt(event);
    if (origin !== this.#origin && head !== undefined) this.#proofs.end(head);
    if (origin !== this.#origin)
      for (const event of this.#events)
        Object.assign(event, { isFrozen: true, isErasureOwed: false, isGoneOwed: false });
    this.#origin = origin;
  }

  /** Nobody has to ask for it. */
  #mayGo(event: KnownEvent): boolean {
    return (event.isShortLived || event.isGoneOwed) && !event.isFrozen && !this.#isHeld(event);
  }

  /** What the sweep and what is owed may have done meanwhile, which nothing that is asked for has to wait for. */
  async #lookAt(event: KnownEvent): Promise<void> {
    const body = (await this.#get(event.eventId)).body as { purgedAt?: string; actor?: { userId?: string } };
    if (body.purgedAt !== undefined) event.isPurged ||= !event.isGone && this.#mayGo(event);
    else if (body.actor?.userId === undefined && event.isErasureOwed && !this.#isHeld(event))
      event.isErased = true;
  }

  /** What is gone stays gone, and what is held stays. */
  async #requireAsKnown(event: KnownEvent): Promise<void> {
    await this.#lookAt(event);
    const { status, body } = await this.#get(event.eventId);
    assert.equal(status, 200, JSON.stringify(body));
    const seen = body as Record<string, Record<string, string> | undefined>;
    const isShown = !('purgedAt' in seen);
    if (!isShown) return assert.ok(isTombstone(event) || this.#mayGo(event), `${event.eventId} is purged`);
    assert.ok(!isTombstone(event), `${event.eventId} is there: ${JSON.stringify(body)}`);
    const { actor, payload = {}, context = {} } = seen;
    const found: Record<Field, string | undefined> = {
      'payload.iban': payload['iban'],
      'payload.note': payload['note'],
      'context.device': context['device'],
    };
    for (const field of FIELDS) {
      const isGone = event.gone.has(field) || event.isErased;
      const isThere = found[field]?.includes(event.words[field]) === true;
      assert.equal(isThere, !isGone, `${field} of ${event.eventId}: ${JSON.stringify(body)}`);
    }
    assert.equal(actor?.['userId'] === event.person, !event.isErased, JSON.stringify(actor));
  }
}
