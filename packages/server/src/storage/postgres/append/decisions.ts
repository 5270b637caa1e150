// What has decided about events: texts that are stored once for each tenant. A process remembers which of them are there, so that
// most pools store none.

import type { TenantId } from '@tallystick/contract';
import { decisionNumber } from '../../pool/decision-number.ts';
import { bigints, texts } from '../connection/binary-arrays.ts';
import type { Transaction } from '../connection/database.ts';
import { WRITE_DECISIONS, WRITE_DECISIONS_OF_ONE } from './pool-statements.ts';

const KNOWN_MAX = 100_000;

/** Those that are in one database, by tenant and number. */
export class KnownDecisions {
  readonly #known = new Set<string>();

  has(key: string): boolean {
    return this.#known.has(key);
  }

  add(keys: Iterable<string>): void {
    if (this.#known.size > KNOWN_MAX) this.#known.clear();
    for (const key of keys) this.#known.add(key);
  }

  /** Somebody may have changed the database. */
  forget(): void {
    this.#known.clear();
  }
}

interface Decision {
  readonly tenant: TenantId;
  readonly decision: number;
  readonly body: string;
}

/** Those of one pool. */
export class PooledDecisions {
  readonly #known: KnownDecisions;
  readonly #unknown = new Map<string, Decision>();

  constructor(known: KnownDecisions) {
    this.#known = known;
  }

  /** All of them are there. */
  get areKnown(): boolean {
    return this.#unknown.size === 0;
  }

  /** Gives its number. */
  put(tenant: TenantId, body: string): number {
    const decision = decisionNumber(body);
    const key = `${decision} ${tenant}`;
    if (!this.#known.has(key)) this.#unknown.set(key, { tenant, decision, body });
    return decision;
  }

  /** Distributed tables take those of one tenant; there are no others then. */
  async write(transaction: Transaction, isDistributed: boolean): Promise<void> {
    if (this.areKnown) return;
    const all = [...this.#unknown.values()].sort((a, b) => a.decision - b.decision);
    const columns = [bigints(all.map(({ decision }) => decision)), texts(all.map(({ body }) => body))];
    if (isDistributed) await transaction.change(WRITE_DECISIONS_OF_ONE, [all[0]!.tenant, ...columns]);
    else await transaction.change(WRITE_DECISIONS, [texts(all.map(({ tenant }) => tenant)), ...columns]);
  }

  /** Once the pool is committed. */
  remember(): void {
    this.#known.add(this.#unknown.keys());
  }
}
