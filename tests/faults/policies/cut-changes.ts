// Changes of policies that are cut, and what must hold behind the cut: all of a change is there, or nothing, and the same request
// again is answered as the first was, or would have been.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '@tallystick/contract';
import type { Backend } from '../backends.ts';
import { type Ask, Client, event, type Reply } from '../client.ts';
import { type Service, startService } from '../running.ts';
import { contentOf, KIND } from './expected-violations.ts';
import { requireVerified } from './requirements.ts';
import { type StoredVersion, storedPolicies } from './stored-policies.ts';

const SCRIPT = join(import.meta.dirname, '../processes/cut-changes.ts');
const PATH = '/api/v1/policies';
const RULE = { conditions: { action: 'Watch.Plain' }, effect: { violationType: 'Plain' } };

/** Behind the commit and before the answer; or before this statement of the commit, from 1. */
export type Cut = 'Before' | 'Behind' | number;

export function creationOf(name: string): Ask {
  return { path: PATH, key: name, body: { name, policyType: 'Alert', rules: [RULE, RULE] } };
}

/** A backend, and the service upon it, which can be cut. */
export class Place implements AsyncDisposable {
  readonly backend: Backend;
  readonly #file: string;
  #service: Service | undefined;

  constructor(backend: Backend) {
    this.backend = backend;
    this.#file = join(backend.start.dataDirectory, '..', 'cut');
  }

  get service(): Service {
    return this.#service!;
  }

  async start(more: Readonly<Record<string, string>> = {}): Promise<Service> {
    const { dataDirectory, env } = this.backend.start;
    rmSync(this.#file, { force: true });
    const ownEnv = { ...env, CUT_FILE: this.#file, ...more };
    this.#service = await startService({ dataDirectory, script: SCRIPT, env: ownEnv });
    return this.#service;
  }

  async ask(ask: Ask): Promise<Reply> {
    using client = new Client(this.service.url);
    return await client.ask(ask);
  }

  /** Asks for something that the service does not live to answer. */
  async askCut(ask: Ask, cut: Cut): Promise<void> {
    writeFileSync(this.#file, String(cut));
    await assert.rejects(this.ask(ask));
    assert.equal(await this.service.ended, 'SIGKILL');
    await this.backend.untilAlone?.();
  }

  /**
   * Asks to be cut before a statement that the commit may not come to: how many it sends depends on what the service does for itself
   * meanwhile. Gives whether it was cut; if not, the change is made.
   */
  async askCutOrMade(ask: Ask, cut: number): Promise<boolean> {
    writeFileSync(this.#file, String(cut));
    const reply = await this.ask(ask).catch(() => undefined);
    if (reply === undefined) {
      assert.equal(await this.service.ended, 'SIGKILL');
      await this.backend.untilAlone?.();
      return true;
    }
    assert.equal(reply.status, 201);
    const sent = Number(readFileSync(this.#file, 'utf8'));
    assert.ok(sent < cut, `not cut before statement ${cut} of ${sent}`);
    rmSync(this.#file);
    return false;
  }

  /** The number of statements in the commit of a change, which is made. */
  async statementsOf(ask: Ask): Promise<number> {
    writeFileSync(this.#file, 'Nowhere');
    assert.equal((await this.ask(ask)).status, 201);
    const count = Number(readFileSync(this.#file, 'utf8'));
    rmSync(this.#file);
    return count;
  }

  /** In the order of their notices. Of each there is all: the version and its notice. */
  async versions(): Promise<StoredVersion[]> {
    const log = (await this.backend.readLog()).get('acme') ?? [];
    const noticed = log.filter(({ kind }) => kind === KIND.policyChange);
    const places = new Map(noticed.map(({ eventId }, place) => [eventId, place]));
    const stored = (await storedPolicies(this.backend)).toSorted(
      (a, b) => places.get(a.noticeId)! - places.get(b.noticeId)!,
    );
    assert.deepEqual(
      stored.map(({ policyId, version, noticeId }) => [policyId, version, noticeId]),
      noticed.map((entry) => {
        const { policyId, policyVersion } = contentOf(entry).payload!;
        return [policyId, policyVersion, entry.eventId];
      }),
    );
    return stored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service?.[Symbol.asyncDispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

/** The changes of a policy, each made of the stored version before it; and the status of its first answer. */
const CHANGES: readonly [change: (before: StoredVersion | undefined) => Ask, status: number][] = [
  [() => creationOf('Watch'), 201],
  [
    (before) => ({
      method: 'PUT',
      path: `${PATH}/${before!.policyId}`,
      key: 'replace',
      headers: { 'If-Match': '"1"' },
      body: { name: 'Watch', policyType: 'Alert', rules: [before!.rules[0], RULE], priority: 5 },
    }),
    200,
  ],
  [(before) => ({ path: `${PATH}/${before!.policyId}/rules`, key: 'add', body: RULE }), 201],
  [
    (before) => ({
      method: 'DELETE',
      path: `${PATH}/${before!.policyId}/rules/${before!.rules[0]!.ruleId}`,
    }),
    204,
  ],
  [(before) => ({ method: 'DELETE', path: `${PATH}/${before!.policyId}` }), 204],
];

/** Cuts each of the first so many changes, and asks for it again when the service is started anew. */
export async function requireWhole(
  open: () => Promise<Backend>,
  cut: 'Before' | 'Behind',
  changes = CHANGES.length,
): Promise<void> {
  await using place = new Place(await open());
  await place.start();
  for (const [number, [changeOf, firstStatus]] of CHANGES.slice(0, changes).entries()) {
    const before = await place.versions();
    const ask = changeOf(before.at(-1));
    await place.askCut(ask, cut);
    const left = await place.versions();
    assert.equal(left.length, cut === 'Before' ? number : number + 1);
    await place.start();
    const again = await place.ask(ask);
    // Without a key, what was done before is not there to be done again.
    const repeatedStatus = ask.key === undefined ? 404 : 200;
    assert.equal(again.status, cut === 'Before' ? firstStatus : repeatedStatus, JSON.stringify(again.body));
    const versions = await place.versions();
    assert.deepEqual(versions.slice(0, left.length), left);
    assert.equal(versions.length, number + 1);
    assert.equal(versions.at(-1)!.state, number === CHANGES.length - 1 ? 'Deleted' : 'Active');
    requireShown(again, versions.at(-1)!);
  }
  await requireVerifiedAt(place);
}

/** Cuts a commit before some of its statements, or before each. Gives what was found. */
export async function requireWholeCommits(open: () => Promise<Backend>, isEach: boolean): Promise<string> {
  await using place = new Place(await open());
  await place.start();
  // The tenant and its log are there.
  assert.equal((await place.ask({ body: event('x') })).status, 201);
  // What the service does for itself meanwhile counts, too.
  const counts: number[] = [];
  for (const name of ['whole-1', 'whole-2', 'whole-3'])
    counts.push(await place.statementsOf(creationOf(name)));
  const count = Math.min(...counts);
  assert.ok(count > 2, `${count} statements`);
  const cuts = isEach ? Array.from({ length: count }, (_, i) => i + 1) : [Math.ceil(count / 2), count];
  let made = counts.length;
  let there = 0;
  let cutCount = 0;
  for (const cut of cuts) {
    const ask = creationOf(`cut-${cut}`);
    if (!(await place.askCutOrMade(ask, cut))) {
      made += 1;
      continue;
    }
    cutCount += 1;
    const left = (await place.versions()).length - made;
    assert.ok(left === 0 || left === 1, `${left} versions of one change`);
    await place.start();
    const again = await place.ask(ask);
    assert.equal(again.status, left === 0 ? 201 : 200);
    made += 1;
    there += left;
    const versions = await place.versions();
    assert.equal(versions.length, made);
    requireShown(again, versions.at(-1)!);
  }
  assert.ok(cutCount > 0, 'no commit was cut');
  await requireVerifiedAt(place);
  return `cut before ${cutCount} of ${count} statements; ${there} of these changes were there`;
}

/** What an answer shows of a stored version. */
function requireShown({ status, body }: Reply, { policyId, version, rules }: StoredVersion): void {
  if (status === 204 || status === 404) return;
  if ('policyId' in (body as object)) {
    const policy = body as Policy;
    assert.deepEqual([policy.policyId, policy.version, policy.rules], [policyId, version, rules]);
  } else assert.deepEqual(body, rules.at(-1));
}

async function requireVerifiedAt({ service, backend }: Place): Promise<void> {
  service.kill('SIGTERM');
  await service.ended;
  await requireVerified(backend);
}
