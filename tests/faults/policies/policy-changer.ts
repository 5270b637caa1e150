// One that makes, replaces and deletes Alert policies at random, one after the other, and keeps book of what it was told. Of a
// change that it got no answer to, it asks again with the same key, or gives it up and looks what there is.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Policy, Rule } from '@tallystick/contract';
import type { Ask, Reply } from '../client.ts';

/** A change that was answered. */
export interface ToldVersion
  extends Pick<Policy, 'policyId' | 'version' | 'policyType' | 'status' | 'rules'> {
  readonly tenant: string;
  readonly requestedAtMs: number;
  readonly answeredAtMs: number;
  /** When the next change of the policy was asked for. */
  endsAtMs: number;
}

/** The answer; undefined: none came, and the caller may ask again. */
export type AskOnce = (ask: Ask) => Promise<Reply | undefined>;

type State = Pick<Policy, 'policyId' | 'version' | 'policyType' | 'status' | 'rules'>;
type Configuration = Pick<Policy, 'name' | 'policyType' | 'status' | 'rules'>;

interface Draw {
  readonly ask: Ask;
  /** What there is when it is done. */
  readonly stateIn: (reply: Reply) => State;
}

const RULES = [
  { conditions: { action: 'Watch.Plain' }, effect: { violationType: 'Plain' } },
  {
    conditions: { action: 'Watch.Counted' },
    effect: { threshold: { count: 3, window: 'PT0.5S', groupBy: 'actor.userId' } },
  },
  {
    conditions: { action: 'Watch.Counted' },
    effect: { threshold: { count: 5, window: 'PT3S', groupBy: 'actor.userId' } },
  },
  { conditions: { action: 'Watch.Plain' }, effect: { threshold: { count: 9, window: 'PT1H' } } },
];
const OTHER_TYPE = { conditions: { action: 'Watch.Nothing' }, effect: { classification: 'Internal' } };
/** Of the changes that no answer came to. */
const GIVEN_UP = 0.4;

export class PolicyChanger {
  readonly versions: ToldVersion[] = [];
  /** Changes that were not acknowledged: each is there as a whole, or not at all. */
  givenUp = 0;
  readonly #tenant: string;
  readonly #slot: number;
  readonly #ask: AskOnce;
  #state: State | undefined;
  /** One that was given up may still be made: its node is gone, but not what it has asked the database for. */
  #mayBeLate = false;
  #made = 0;

  constructor(tenant: string, slot: number, ask: AskOnce) {
    this.#tenant = tenant;
    this.#slot = slot;
    this.#ask = ask;
  }

  /** One change, until it is answered or given up. */
  async change(isOver: () => boolean): Promise<void> {
    const { ask, stateIn } = this.#draw();
    const requestedAtMs = performance.now();
    const newest = this.versions.at(-1);
    if (newest !== undefined) newest.endsAtMs = Math.min(newest.endsAtMs, requestedAtMs);
    for (let attempt = 1; !isOver(); attempt++) {
      const reply = await this.#ask(ask);
      if (reply === undefined && Math.random() >= GIVEN_UP) continue;
      // Without a key, a repeat is refused if the first was made.
      const mayBeRefused = this.#mayBeLate || (ask.key === undefined && attempt > 1);
      if (reply === undefined || (mayBeRefused && [404, 409].includes(reply.status))) {
        this.givenUp += 1;
        this.#mayBeLate ||= reply === undefined;
        await this.#look(isOver);
        return;
      }
      const { status, body } = reply;
      const isFirst = attempt === 1 && ask.method === 'POST';
      const expected = isFirst ? [201] : [200, 201, 204];
      assert.ok(expected.includes(status), `${ask.method} ${ask.path}: ${status} ${JSON.stringify(body)}`);
      this.#note(stateIn(reply), requestedAtMs);
      return;
    }
  }

  #note(state: State, requestedAtMs: number): void {
    const times = { requestedAtMs, answeredAtMs: performance.now(), endsAtMs: Infinity };
    this.versions.push({ ...state, tenant: this.#tenant, ...times });
    this.#state = state.status === 'Deleted' ? undefined : state;
    this.#mayBeLate = false;
  }

  /** Reads what there is now. */
  async #look(isOver: () => boolean): Promise<void> {
    const path = this.#state === undefined ? '/policies?limit=1000' : `/policies/${this.#state.policyId}`;
    while (!isOver()) {
      const reply = await this.#ask({ method: 'GET', path: `/api/v1${path}`, tenant: this.#tenant });
      if (reply === undefined) continue;
      if (reply.status === 404) this.#state = undefined;
      else if (this.#state !== undefined) this.#state = reply.body as Policy;
      else {
        const { data } = reply.body as { data: Policy[] };
        this.#state = data.find(({ name }) => name === this.#name());
      }
      return;
    }
  }

  #draw(): Draw {
    if (this.#state === undefined) return this.#creating();
    const chance = Math.random();
    if (chance < 0.5) return this.#replacing(this.#state);
    if (chance < 0.7) return this.#adding(this.#state);
    if (chance < 0.85 && this.#state.rules.length > 0) return this.#removing(this.#state);
    return this.#deleting(this.#state);
  }

  #creating(): Draw {
    this.#made += 1;
    return {
      ask: this.#asking('POST', '', this.#configuration('Alert', [])),
      stateIn: ({ body }) => body as Policy,
    };
  }

  #replacing({ policyId, version, rules }: State): Draw {
    const policyType = Math.random() < 0.15 ? 'Classification' : 'Alert';
    const ask = this.#asking('PUT', `/${policyId}`, this.#configuration(policyType, rules));
    return {
      ask: { ...ask, ...(Math.random() < 0.5 && ifMatch(version)) },
      stateIn: ({ body }) => body as Policy,
    };
  }

  #adding(state: State): Draw {
    const rule = state.policyType === 'Alert' ? drawn(RULES) : OTHER_TYPE;
    return {
      ask: { ...this.#asking('POST', `/${state.policyId}/rules`, rule), ...ifMatch(state.version) },
      stateIn: (reply) => ({
        ...state,
        version: versionIn(reply),
        rules: [...state.rules, reply.body as Rule],
      }),
    };
  }

  #removing(state: State): Draw {
    const { ruleId } = drawn(state.rules);
    return {
      ask: { ...this.#asking('DELETE', `/${state.policyId}/rules/${ruleId}`), ...ifMatch(state.version) },
      stateIn: (reply) => ({
        ...state,
        version: versionIn(reply),
        rules: state.rules.filter((each) => each.ruleId !== ruleId),
      }),
    };
  }

  #deleting(state: State): Draw {
    return {
      ask: { ...this.#asking('DELETE', `/${state.policyId}`), ...ifMatch(state.version) },
      // The versions before it keep the rules.
      stateIn: () => ({ ...state, version: state.version + 1, status: 'Deleted', rules: [] }),
    };
  }

  #asking(method: string, below: string, body?: object): Ask {
    const path = `/api/v1/policies${below}`;
    const ask = { method, path, tenant: this.#tenant };
    return body === undefined ? ask : { ...ask, key: randomUUID(), body };
  }

  /** Some rules stay as they are, with their ids. */
  #configuration(policyType: Policy['policyType'], known: readonly Rule[]): Configuration {
    const isAlert = policyType === 'Alert';
    const rules = isAlert ? [...kept(known), drawn(RULES), drawn(RULES)] : [OTHER_TYPE];
    const status = Math.random() < 0.85 ? 'Active' : 'Inactive';
    return { name: this.#name(), policyType, status, rules: rules as Rule[] };
  }

  #name(): string {
    return `Watch ${this.#slot} ${this.#made}`;
  }
}

/** Those of an Alert policy; some of them, now and then not enabled. */
function kept(rules: readonly Rule[]): Rule[] {
  const known = rules.filter(({ effect }) => effect.classification === undefined);
  return known.slice(-3).map((rule) => ({ ...rule, enabled: Math.random() < 0.9 }));
}

function ifMatch(version: number): Pick<Ask, 'headers'> {
  return { headers: { 'If-Match': `"${version}"` } };
}

function versionIn({ headers }: Reply): number {
  return Number(String(headers['etag']).replaceAll('"', ''));
}

function drawn<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)]!;
}
