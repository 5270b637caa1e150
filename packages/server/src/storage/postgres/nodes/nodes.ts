// The membership of a node on PostgreSQL: a row with the time of its last beat, and leases of shares of the logs. The
// clock of the database decides which nodes are gone, independent of the nodes' clocks. No node waits for another: a
// share with a write under way is taken or given up one beat later.

import type { TenantId } from '@tallystick/contract';
import type { Beat, Nodes, NodeState, NodeWord } from '../../../nodes/nodes.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, type Row, statement, type Transaction } from '../connection/database.ts';
import type { HeldShares } from './held-shares.ts';
import type { Notifications } from './notifications.ts';
import { SHARES } from '../schema/schema.ts';

export interface NodeSelf {
  readonly name: string;
  readonly version: string;
  /** Unique to this process. */
  readonly instance: string;
  /** A node that is silent for this long counts as gone; all nodes use the same value. */
  readonly leaseMs?: number;
}

export interface NodeParts {
  /** A separate connection: a busy node must not count as gone. */
  readonly database: Database;
  readonly self: NodeSelf;
  readonly held: HeldShares;
  readonly notifications: Notifications;
  readonly clock: Clock;
}

/** With one beat per second, the shares of a killed node are taken over after seven seconds at most. */
const LEASE_MS = 5000;
/** Gone nodes are shown for this long. */
const SHOWN_MS = 10 * 60_000;
/** A refused log stays refused until the node that takes it over has checked it. */
const REFUSED_MS = 30_000;

const ms = (count: number) => `interval '${count} milliseconds'`;
/** For a time set by this clock: it is past, or so far ahead that the clock must have been set back since. */
const isOver = (time: string, leaseMs: string) =>
  `(${time} <= clock_timestamp() OR ${time} > clock_timestamp() + 2 * ${leaseMs} * interval '1 millisecond')`;

const SAY = statement(
  `INSERT INTO nodes (instance, name, version, started_at_ms, is_able, seen_at)
   VALUES ($1, $2, $3, $4, $5, clock_timestamp())
   ON CONFLICT (instance) DO UPDATE SET seen_at = excluded.seen_at, is_able = excluded.is_able`,
);
/** Before or after now: the clock may have been set back since. */
const isWithin = (span: number) =>
  `seen_at BETWEEN clock_timestamp() - ${ms(span)} AND clock_timestamp() + ${ms(span)}`;
const FORGET = statement(`DELETE FROM nodes WHERE NOT (${isWithin(SHOWN_MS)})`);
const KEEP = statement(
  `UPDATE leases SET until = clock_timestamp() + $2 * interval '1 millisecond'
   WHERE instance = $1 AND until > clock_timestamp() RETURNING share, token`,
);
const LIST = statement(
  `SELECT instance, name, version, started_at_ms, is_able,
     (extract(epoch FROM seen_at) * 1000)::bigint AS seen_at_ms,
     ${isOver("seen_at + $1 * interval '1 millisecond'", '$1')} AS is_gone,
     (SELECT count(*) FROM leases WHERE leases.instance = nodes.instance AND until > clock_timestamp()) AS shares
   FROM nodes ORDER BY name, instance`,
);
const GIVE_UP = statement(
  `UPDATE leases SET instance = NULL, until = NULL WHERE share IN (
     SELECT share FROM leases WHERE instance = $1 ORDER BY share DESC LIMIT $2 FOR UPDATE SKIP LOCKED)
   RETURNING share`,
);
const TAKE = statement(
  `UPDATE leases SET instance = $1, token = token + 1, until = clock_timestamp() + $3 * interval '1 millisecond'
   WHERE share IN (SELECT share FROM leases WHERE until IS NULL OR ${isOver('until', '$3')}
     ORDER BY share LIMIT $2 FOR UPDATE SKIP LOCKED)
   RETURNING share, token`,
);
const REFUSE = statement(
  `INSERT INTO refused_logs (tenant_id, instance, why) SELECT tenant, $1, why
   FROM unnest($2::text[], $3::text[]) AS refused (tenant, why) ON CONFLICT DO NOTHING`,
);
const REFUSED_ELSEWHERE = statement(
  `SELECT tenant_id, why FROM refused_logs JOIN nodes USING (instance)
   WHERE instance <> $1 AND ${isWithin(REFUSED_MS)}`,
);
const FORGET_REFUSED = statement(
  'DELETE FROM refused_logs WHERE instance NOT IN (SELECT instance FROM nodes)',
);
const FORGET_REFUSALS = statement('DELETE FROM refused_logs WHERE tenant_id = ANY($1::text[])');
const FREE = statement('UPDATE leases SET instance = NULL, until = NULL WHERE instance = $1');
const GO = statement('DELETE FROM nodes WHERE instance = $1');

/** Called while no node runs. */
export async function forgetRefusals(database: Database, tenants: readonly TenantId[]): Promise<void> {
  await database.inTransaction(ALL_TENANTS, (transaction) =>
    transaction.change(FORGET_REFUSALS, [[...tenants]]),
  );
}

export class PostgresNodes implements Nodes {
  readonly #parts: NodeParts;
  readonly #startedAtMs: number;
  readonly #leaseMs: number;
  #hasRefused = false;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.now();
    this.#leaseMs = parts.self.leaseMs ?? LEASE_MS;
  }

  async beat({ refused, isAble }: NodeWord): Promise<Beat> {
    const { database, clock, held, notifications } = this.#parts;
    const before = held.current();
    // Counted from before the query, so that it is never longer than in the database.
    const untilNs = clock.monotonicNs() + this.#leaseMs * 1e6;
    this.#hasRefused ||= refused.size > 0;
    const { leases, nodes, elsewhere, given } = await database.inTransaction(ALL_TENANTS, (transaction) =>
      // All of them each time: another node may have considered this one gone, and deleted its refusals.
      this.#beatIn(transaction, [...refused], isAble),
    );
    held.set(leases, untilNs);
    if (given > 0) notifications.tell('SharesFreed');
    return {
      nodes,
      refusedElsewhere: new Map(elsewhere.map((row) => [textIn(row, 'tenant_id'), textIn(row, 'why')])),
      hasGained: [...leases].some(([share, token]) => before?.get(share) !== token),
    };
  }

  async leave(): Promise<void> {
    const { database, self, held, notifications } = this.#parts;
    held.set(new Map(), 0);
    await database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.change(FREE, [self.instance]);
      // Its refusals stay for a while, until the next holder has found them itself.
      if (!this.#hasRefused) await transaction.change(GO, [self.instance]);
    });
    await notifications.tellAtOnce('SharesFreed');
  }

  tell: Nodes['tell'] = (news) => this.#parts.notifications.tell(news);

  onTold: Nodes['onTold'] = (listener) => this.#parts.notifications.onTold(listener);

  async #beatIn(
    transaction: Transaction,
    refused: readonly (readonly [TenantId, string])[],
    isAble: boolean,
  ) {
    const { self } = this.#parts;
    const { instance, name, version } = self;
    const [, , , kept, listed, elsewhere] = await Promise.all([
      transaction.change(SAY, [instance, name, version, this.#startedAtMs, isAble]),
      transaction.change(FORGET),
      transaction.change(FORGET_REFUSED),
      transaction.query(KEEP, [instance, this.#leaseMs]),
      transaction.query(LIST, [this.#leaseMs]),
      transaction.query(REFUSED_ELSEWHERE, [instance]),
      refused.length === 0
        ? 0
        : transaction.change(REFUSE, [
            instance,
            refused.map(([tenant]) => tenant),
            refused.map(([, why]) => why),
          ]),
    ]);
    const leases = new Map(kept.map(leaseIn));
    const nodes = withoutFormer(listed.map((row) => stateIn(row, instance)));
    const given = await this.#evenOut(transaction, leases, dueIn(nodes));
    const shares = leases.size;
    return {
      leases,
      nodes: nodes.map((node) => (node.isSelf ? { ...node, shares } : node)),
      elsewhere,
      given,
    };
  }

  /** Takes missing shares and gives up surplus ones. Returns the number given up. */
  async #evenOut(transaction: Transaction, leases: Map<number, number>, due: number): Promise<number> {
    const { instance } = this.#parts.self;
    if (leases.size < due) {
      const taken = await transaction.query(TAKE, [instance, due - leases.size, this.#leaseMs]);
      for (const [share, token] of taken.map(leaseIn)) leases.set(share, token);
    }
    if (leases.size <= due) return 0;
    const given = await transaction.query(GIVE_UP, [instance, leases.size - due]);
    for (const row of given) leases.delete(numberOf(row, 'share'));
    return given.length;
  }
}

/**
 * The number of shares for this node: equal for all nodes, or one less for the latest. A node that is unable gets none,
 * unless all are: then every node tries.
 */
function dueIn(nodes: readonly NodeState[]): number {
  const serving = nodes.filter(({ isGone }) => !isGone);
  const able = serving.filter(({ isAble }) => isAble);
  const dividing = able.length > 0 ? able : serving;
  return dividing.some(({ isSelf }) => isSelf) ? Math.ceil(SHARES / dividing.length) : 0;
}

/** A node that was restarted is shown in its current state only. */
function withoutFormer(nodes: readonly NodeState[]): NodeState[] {
  const serving = new Set(nodes.filter(({ isGone }) => !isGone).map(({ name }) => name));
  return nodes.filter(({ isGone, name }) => !isGone || !serving.has(name));
}

function leaseIn(row: Row): readonly [number, number] {
  return [numberOf(row, 'share'), numberOf(row, 'token')];
}

function stateIn(row: Row, instance: string): NodeState {
  return {
    name: textIn(row, 'name'),
    version: textIn(row, 'version'),
    startedAtMs: numberOf(row, 'started_at_ms'),
    seenAtMs: numberOf(row, 'seen_at_ms'),
    isGone: row['is_gone'] === true,
    isAble: row['is_able'] === true,
    shares: numberOf(row, 'shares'),
    isSelf: textIn(row, 'instance') === instance,
  };
}
