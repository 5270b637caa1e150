// All that a service tells one reader, on every way to an event, as texts that can be compared with those of another world.

import type { LegalHold, Policy } from '@tallystick/contract';
import type { Authenticate } from '../../access/credentials.ts';
import type { TestApp } from '../../testing/test-app.ts';
import { until } from '../../testing/until.ts';
import type { Worlds } from './any-worlds.ts';
import type { Reader, SentEvent } from './plain-sight.ts';
import { Names, provenIn } from './world-names.ts';

/** What is asked beside each event itself. */
export interface Questions {
  readonly lists: readonly string[];
  readonly searches: readonly object[];
  readonly trials: readonly object[];
}

/** A key is the reader that it is for; every reader may ask everything. */
export const believeReader: Authenticate = ({ apiKey }) => {
  const { roles, clearance } = JSON.parse(apiKey!) as Reader;
  const name = `key:01KE00000000000000000000${roles.includes('Admin') ? 'KA' : 'KB'}`;
  const facts = { name, identity: name, tenant: '*' as const, namesTenant: false };
  return Promise.resolve({ ...facts, roles, clearance, refusal: () => undefined });
};

const HOLDS = '/api/v1/legal-holds';

const WRITER: Reader = { roles: ['Admin'], clearance: 'Secret' };

export interface WorldAnswer {
  readonly asked: string;
  readonly status: number;
  /** With what the log makes put aside. */
  readonly text: string;
  /** As it came. */
  readonly body: string;
}

interface Asked {
  readonly path: string;
  readonly body?: object;
  readonly accept?: string;
}

/** Violations that are asked for one by one. */
const SINGLE_MAX = 4;

/** Hashes of the body, its length, and the time. */
const UNTOLD = ['etag', 'content-length', 'date'];

/** One tenant, in which nothing happens but what is asked for here. */
export class World {
  readonly #app: TestApp;
  readonly #tenant: string;
  readonly #reader: Reader;
  readonly #names: Names;
  readonly #holdIds: string[] = [];
  #asked = 0;

  constructor(app: TestApp, tenant: string, reader: Reader) {
    this.#app = app;
    this.#tenant = tenant;
    this.#reader = reader;
    this.#names = new Names(tenant);
  }

  /** Stores all of this, and waits until all alerts are raised. */
  async fill(
    { policies, holds }: Pick<Worlds, 'policies' | 'holds'>,
    events: readonly SentEvent[],
  ): Promise<void> {
    for (const policy of policies) {
      const made = JSON.parse(await this.#do({ path: '/api/v1/policies', body: policy }, 201)) as Policy;
      this.#names.name(made.policyId, `<${policy.name}>`);
      for (const [i, { ruleId }] of made.rules.entries()) this.#names.name(ruleId, `<${policy.name} ${i}>`);
    }
    for (const hold of holds) {
      const body = { reason: 'Court order', ...hold };
      const { holdId } = JSON.parse(await this.#do({ path: HOLDS, body }, 201)) as LegalHold;
      this.#names.name(holdId, `<${hold.name}>`);
      this.#holdIds.push(holdId);
    }
    await this.#do({ path: '/api/v1/audit-events/batch', body: { events } }, 201);
    for (const { eventId } of events) this.#names.name(eventId);
    const last = events.at(-1)!.eventId;
    // Of each event one is raised, in the order of the log.
    await until(async () =>
      (await this.#do({ path: '/api/v1/violations?violationType=Any&limit=1000' }, 200)).includes(last),
    );
  }

  /** The answers to all that the reader can ask. */
  async *told(
    { lists, searches, trials }: Questions,
    eventIds: readonly string[],
  ): AsyncGenerator<WorldAnswer> {
    for (const [i, eventId] of eventIds.entries()) {
      const path = `/api/v1/audit-events/${eventId}`;
      yield await this.#ask({ path });
      yield await this.#ask({ path: `${path}/explanation` });
      yield await this.#ask({ path: `${path}/proof` });
      // These show the same as others, or take long.
      if (i % 2 === 0) yield await this.#ask({ path: `${path}/proof`, accept: 'text/plain' });
      if (i % 3 === 0)
        yield await this.#ask({ path: `${path.replace('v1', 'v2')}?includeRelatedEntities=true` });
    }
    for (const query of lists) yield* this.#pages(`/api/v1/audit-events?${query}`);
    for (const body of searches) yield await this.#ask({ path: '/api/v1/audit-events/search', body });
    for (const body of trials) yield await this.#ask({ path: '/api/v1/policies/validate', body });
    yield* this.#pages(HOLDS);
    for (const holdId of this.#holdIds) yield await this.#ask({ path: `${HOLDS}/${holdId}` });
    yield* this.#violations();
    const streams = await this.#send({ path: '/api/v1/event-streams' }, this.#reader);
    const [stream] = (JSON.parse(await streams.text()) as { data: { streamId: string }[] }).data;
    yield* this.#pages(`/api/v1/event-streams/${stream!.streamId}/events?limit=20`);
  }

  async *#violations(): AsyncGenerator<WorldAnswer> {
    const path = '/api/v1/violations';
    yield* this.#pages(`${path}?severity=High`);
    let all: { readonly violationId: string }[] = [];
    for await (const answer of this.#pages(`${path}?limit=15`)) {
      all = [...all, ...(JSON.parse(answer.body) as { data: typeof all }).data];
      yield answer;
    }
    for (const { violationId } of all.slice(0, SINGLE_MAX))
      yield await this.#ask({ path: `${path}/${violationId}` });
  }

  /** A list, on to its end and one page back. */
  async *#pages(path: string): AsyncGenerator<WorldAnswer> {
    let previous: string | null = null;
    for (let next: string | null = path; next !== null; ) {
      const answer = await this.#ask({ path: next });
      yield answer;
      if (answer.status !== 200) return;
      ({ next, previous } = (
        JSON.parse(answer.body) as { links: Record<'next' | 'previous', string | null> }
      ).links);
    }
    if (previous !== null) yield await this.#ask({ path: previous });
  }

  async #ask(asked: Asked): Promise<WorldAnswer> {
    this.#asked++;
    const response = await this.#send(asked, this.#reader);
    const { status, headers } = response;
    const body = await response.text();
    const isProof = asked.path.endsWith('/proof') && status === 200;
    const told = [...headers].filter(([name]) => !UNTOLD.includes(name)).map((header) => header.join(': '));
    const name = `${asked.accept ?? ''} ${asked.path} ${asked.body === undefined ? '' : JSON.stringify(asked.body)}`;
    return {
      asked: this.#names.put(name.trim()),
      status,
      text: this.#names.put([status, ...told, isProof ? provenIn(body) : body].join('\n')),
      body,
    };
  }

  async #do(asked: Asked, expected: number): Promise<string> {
    const response = await this.#send(asked, WRITER);
    const text = await response.text();
    if (response.status !== expected) throw new Error(`${asked.path} was answered ${text}`);
    return text;
  }

  #send({ path, body, accept = '*/*' }: Asked, { roles, clearance }: Reader) {
    // The same for the same request: notices keep it.
    const correlation = `7d3f0c52-0000-4000-8000-${String(this.#asked).padStart(12, '0')}`;
    return fetch(`${this.#app.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'X-API-Key': JSON.stringify({ roles, clearance }),
        'X-Tenant-Id': this.#tenant,
        'X-Correlation-Id': correlation,
        'Content-Type': 'application/json',
        Accept: accept,
        // It takes longer to compress than to send.
        'Accept-Encoding': 'identity',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}
