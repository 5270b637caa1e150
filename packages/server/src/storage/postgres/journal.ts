// Appending: one transaction for a whole pool of requests of many tenants. Where nothing is to be looked up, it is one
// statement that is sent while the pool before is still being committed (append-at-once.ts). Otherwise, and for what that could
// not store, the logs are locked first; keys and ids are looked up after that, so that of two who ask the same thing, on
// whichever node, one stores and the other finds it. Logs that somebody else has locked wait for the next attempt. What the
// database refuses is tried again tenant by tenant, so that one bad log fails alone. When anything else is thrown, nothing is
// known of the commit. Where tables are distributed it is one transaction for each tenant from the beginning: a commit then
// concerns one machine, and needs no other.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type {
  AppendAnswer,
  AppendTime,
  EpochRequest,
  EpochResult,
  OnHeld,
  SealRequest,
  SealResult,
} from '../../streams/log.ts';
import type { AppendPool } from '../pool/append-message.ts';
import type { Head } from '../pool/head.ts';
import type { PoolCommitments } from '../pool/pool-commitments.ts';
import { PoolWriter } from '../pool/pool-writer.ts';
import type { StreamWriterOptions } from '../pool/stream-writer.ts';
import { TenantFault } from '../pool/tenant-fault.ts';
import { AgedStreams } from './aged-streams.ts';
import { AppendAtOnce, canBeAtOnce, type Given, type Numbered, tenantsOf } from './append-at-once.ts';
import { contentMonthOf } from './content-month.ts';
import { type Database, PROJECTOR, statement, type Transaction } from './database.ts';
import { beginEpoch } from './epoch-writer.ts';
import { Heads, type LockedHeads } from './heads.ts';
import { HeldShares } from './held-shares.ts';
import { Line } from './line.ts';
import { createPatience } from './patience.ts';
import { PostgresPoolTables, type Wanted } from './pool-tables.ts';
import { Turns } from './turns.ts';

export interface JournalOptions extends StreamWriterOptions {
  /** The name under which the logs are signed. */
  readonly logOrigin: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The logs whose streams are sealed at their age; undefined: all. */
  readonly held?: HeldShares;
}

type Result = AppendAnswer;

/** Where each is of one tenant. */
export const COMMITS_AT_ONCE = 8;
const SWEEP_ROWS_MAX = 1000;

const ENSURE_MONTH = statement('SELECT ensure_content_month($1)');
const STREAM = statement('SELECT 1 FROM streams WHERE tenant_id = $1 AND stream_id = $2');
const SWEEP = statement(
  `DELETE FROM used_keys WHERE (tenant_id, operation, key) IN (SELECT tenant_id, operation, key FROM used_keys
     WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT ${SWEEP_ROWS_MAX})`,
);
const PROBE = statement(
  `INSERT INTO meta (name, value) VALUES ('probes', '1')
   ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text`,
);

export class Journal {
  readonly #database: Database;
  readonly #options: JournalOptions;
  readonly #heads: Heads;
  readonly #agedStreams: AgedStreams;
  readonly #months = new Set<number>([contentMonthOf(undefined)]);
  readonly #turns = new Turns();
  readonly #line: Line;
  readonly #atOnce: AppendAtOnce;

  constructor(database: Database, options: JournalOptions) {
    this.#database = database;
    this.#options = options;
    this.#heads = new Heads(options.logOrigin);
    this.#line = new Line(database);
    this.#atOnce = new AppendAtOnce({ line: this.#line, heads: this.#heads, writing: options });
    this.#agedStreams = new AgedStreams(database, options.held ?? HeldShares.all());
  }

  async append(
    { requests, now }: AppendPool,
    commitments: PoolCommitments,
    onHeld?: OnHeld,
  ): Promise<Result[]> {
    const results: Result[] = [];
    let row = 0;
    let open: Numbered[] = [];
    for (const [place, request] of requests.entries()) {
      const fault = commitments.faults.get(place);
      if (fault === undefined) open.push({ request, place, firstRow: row });
      else results[place] = { status: 'Faulty', error: new Error(fault) };
      row += request.drafts.length;
    }
    await this.#ensureMonths(open);
    open = await this.#appendAtOnce(open, { commitments, now }, results);
    const patience = createPatience(this.#options);
    for (let attempt = 0; open.length > 0; attempt++) {
      open = await this.#appendOrEach(open, { commitments, now }, results);
      if (open.length === 0) break;
      // Nobody else need wait for these.
      if (attempt === 0) onHeld?.(decidedIn(results));
      if (await patience()) continue;
      for (const { place } of open) results[place] = { status: 'Faulty', error: lockedTooLong() };
      break;
    }
    return results;
  }

  async seal(request: SealRequest, now: AppendTime): Promise<SealResult> {
    const { tenant, streamId, once } = request;
    return this.#untilLocked(
      tenant,
      [{ tenant, once, drafts: [] }],
      now.steadyNowMs,
      async (writer, transaction) => {
        const isThere = (await transaction.query(STREAM, [tenant, streamId])).length > 0;
        return writer.seal(request, now, isThere);
      },
    );
  }

  async beginEpoch(request: EpochRequest, { nowMs, steadyNowMs }: AppendTime): Promise<EpochResult> {
    const { tenant } = request;
    return this.#untilLocked(tenant, [], steadyNowMs, async ({ streams }, transaction, tables) => {
      const head = tables.head(tenant);
      if (head === undefined) return { status: 'Unknown' };
      return beginEpoch({ ...this.#options, transaction, streamWriter: streams }, request, head, nowMs);
    });
  }

  /** Seals a portion of the streams that have reached their age; true when there may be more. */
  async sealAged({ nowMs, steadyNowMs }: AppendTime, except: readonly TenantId[] = []): Promise<boolean> {
    const { ms } = this.#options.streams.sealAfter;
    const { tenants, hasMore } = await this.#agedStreams.next(Math.floor(nowMs / ms) * ms);
    const wanted = [...new Set(tenants).difference(new Set(except))];
    if (wanted.length > 0) await this.#sealTogetherOrEach(wanted, { nowMs, steadyNowMs });
    return hasMore;
  }

  /** Removes a portion of the keys whose window has ended; true when there may be more. */
  async sweepUsedKeys(steadyNowMs: number): Promise<boolean> {
    const swept = await this.#database.inTransaction(PROJECTOR, (t) => t.change(SWEEP, [steadyNowMs]));
    return swept === SWEEP_ROWS_MAX;
  }

  /** A durable commit of next to nothing. */
  async probe(): Promise<void> {
    await this.#database.inTransaction({ role: 'Writer', tenants: [] }, (t) => t.change(PROBE));
  }

  async #sealTogetherOrEach(tenants: readonly TenantId[], now: AppendTime): Promise<void> {
    if (tenants.length > 1 && (await this.#database.isDistributed())) {
      for (const tenant of tenants) await this.#sealTogetherOrEach([tenant], now);
      return;
    }
    try {
      await this.#commit(tenants, [], now.steadyNowMs, async ({ streams }, _, tables) => {
        for (const tenant of tenants) {
          const head = tables.head(tenant);
          // An append may have been faster, or somebody may be at it.
          if (head !== undefined && streams.isAged(head, now.nowMs)) streams.seal(head, 'Age', now.nowMs);
        }
      });
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof TenantFault)) throw error;
      // A log that refuses its seal refuses events and checkpoints too: whoever needs it is told there.
      if (tenants.length > 1) for (const tenant of tenants) await this.#sealTogetherOrEach([tenant], now);
    }
  }

  /** Those that it could not store are given back. */
  async #appendAtOnce(open: Numbered[], given: Given, results: Result[]): Promise<Numbered[]> {
    if (open.length === 0 || !canBeAtOnce(open) || (await this.#database.isDistributed())) return open;
    // Only sent in its turn: the next one need not wait for the answer.
    const sent = await this.#turns.take('', async () => this.#atOnce.send(open, given));
    if (sent === undefined) return open;
    try {
      const stored = await sent.stored;
      const isStored = ({ request }: Numbered) => stored.has(request.tenant);
      this.#heads.forget(tenantsOf(open.filter((each) => !isStored(each))));
      for (const { place } of open.filter(isStored)) results[place] = sent.decided.get(place)!;
      return open.filter((each) => !isStored(each));
    } catch (error) {
      this.#forget();
      if (!isRefusal(error)) throw error;
      return open;
    }
  }

  /** Those whose logs somebody else has locked are given back. */
  async #appendOrEach(open: readonly Numbered[], given: Given, results: Result[]): Promise<Numbered[]> {
    const tenants = tenantsOf(open);
    const ofEach = tenants.map((tenant) => open.filter(({ request }) => request.tenant === tenant));
    if (tenants.length > 1 && (await this.#database.isDistributed()))
      return this.#appendApart(ofEach, given, results);
    try {
      return await this.#appendTogether(open, given, results);
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof TenantFault)) throw error;
      if (tenants.length === 1) {
        for (const { place } of open) results[place] = { status: 'Faulty', error };
        return [];
      }
      const left: Numbered[] = [];
      for (const own of ofEach) left.push(...(await this.#appendOrEach(own, given, results)));
      return left;
    }
  }

  /**
   * Each tenant in a transaction of its own. The machine of one may be away: what the others have stored is stored, and must
   * be answered. Throws if none was.
   */
  async #appendApart(ofEach: readonly Numbered[][], given: Given, results: Result[]): Promise<Numbered[]> {
    const left: Numbered[] = [];
    const failed = new Map<readonly Numbered[], unknown>();
    // One after the other, but so many of these at once.
    const waiting = ofEach.values();
    const appendNext = async () => {
      for (const own of waiting) {
        try {
          left.push(...(await this.#appendOrEach(own, given, results)));
        } catch (error) {
          failed.set(own, error);
        }
      }
    };
    await Promise.all(Array.from({ length: COMMITS_AT_ONCE }, appendNext));
    if (failed.size === ofEach.length) throw [...failed.values()][0];
    for (const [own, error] of failed)
      for (const { place } of own) results[place] = { status: 'Faulty', error: perhaps(error) };
    return left;
  }

  async #appendTogether(open: readonly Numbered[], given: Given, results: Result[]): Promise<Numbered[]> {
    const { commitments, now } = given;
    const requests = open.map(({ request }) => request);
    const decided = new Map<number, Result>();
    const locked = await this.#commit(
      tenantsOf(open),
      requests,
      now.steadyNowMs,
      async (writer, _, __, heads) => {
        for (const { request, place, firstRow } of open) {
          if (heads.skipped.has(request.tenant)) continue;
          const fault = heads.faults.find(({ tenant }) => tenant === request.tenant);
          decided.set(
            place,
            fault === undefined
              ? writer.append(request, { commitments, firstRow, now })
              : { status: 'Faulty', error: fault },
          );
        }
        return heads;
      },
    );
    for (const [place, result] of decided) results[place] = result;
    return open.filter(({ request }) => locked.skipped.has(request.tenant));
  }

  /** One tenant's log, as soon as nobody else has it. */
  async #untilLocked<T>(
    tenant: TenantId,
    wanted: readonly Wanted[],
    steadyNowMs: number,
    work: Work<T>,
  ): Promise<T> {
    const patience = createPatience(this.#options);
    do {
      const done = await this.#commit(
        [tenant],
        wanted,
        steadyNowMs,
        async (writer, transaction, tables, heads) => {
          const [fault] = heads.faults;
          if (fault !== undefined) throw fault;
          return heads.skipped.has(tenant)
            ? undefined
            : { value: await work(writer, transaction, tables, heads) };
        },
      );
      if (done !== undefined) return done.value;
    } while (await patience());
    throw lockedTooLong();
  }

  /** One transaction upon locked heads; others of this process come before and behind it. */
  async #commit<T>(
    tenants: readonly TenantId[],
    wanted: readonly Wanted[],
    steadyNowMs: number,
    work: Work<T>,
  ): Promise<T> {
    // Two at once would only lock each other out of the logs that they have in common.
    const name = (await this.#database.isDistributed()) ? tenants.join() : '';
    return this.#turns.take(name, async () => {
      await this.#line.idle();
      return this.#commitAlone(tenants, wanted, steadyNowMs, work);
    });
  }

  async #commitAlone<T>(
    tenants: readonly TenantId[],
    wanted: readonly Wanted[],
    steadyNowMs: number,
    work: Work<T>,
  ): Promise<T> {
    let locked: LockedHeads | undefined;
    try {
      const result = await this.#database.inTransaction({ role: 'Writer', tenants }, async (transaction) => {
        locked = await this.#heads.lock(transaction, tenants);
        const tables = new PostgresPoolTables(locked);
        await tables.load(transaction, wanted, steadyNowMs);
        const done = await work(new PoolWriter(tables, this.#options), transaction, tables, locked);
        if (!tables.rows.isEmpty) await tables.rows.write(transaction, locked.heads.values());
        return done;
      });
      this.#heads.remember(locked?.heads.values() ?? []);
      return result;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#heads.forget();
    // A database that was restored may not have all of them.
    this.#months.clear();
  }

  /** The partitions that the content of these will go to. */
  async #ensureMonths(open: readonly Numbered[]): Promise<void> {
    const months = new Set(
      open.flatMap(({ request }) => request.drafts.map(({ expiresAtMs }) => contentMonthOf(expiresAtMs))),
    );
    for (const month of months.difference(this.#months)) {
      await this.#database.inTransaction({ role: 'Writer', tenants: [] }, (t) =>
        t.query(ENSURE_MONTH, [month]),
      );
      this.#months.add(month);
    }
  }
}

type Work<T> = (
  writer: PoolWriter<Head>,
  transaction: Transaction,
  tables: PostgresPoolTables,
  heads: LockedHeads,
) => Promise<T>;

/** Those that are still open have no result, and no place in it. */
function decidedIn(results: readonly Result[]): Map<number, Result> {
  return new Map([...results.entries()].filter(([, result]) => result !== undefined));
}

function lockedTooLong(): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', 'The log was written to by others for too long. Try again.');
}

/** For one whose machine did not answer. */
function perhaps(cause: unknown): AuditError {
  return new AuditError(
    'SERVICE_UNAVAILABLE',
    'The log cannot be written at the moment; this may be stored or not. Repeat it with the same key or ids.',
    { cause },
  );
}

/** Class 23: what the tables refuse is of one log, and others need not fail with it. */
function isRefusal(error: unknown): error is Error {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('23')
  );
}
