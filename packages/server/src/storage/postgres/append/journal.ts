// Appends a whole pool of requests of many tenants in one transaction. Mostly this is one statement, sent while the
// previous pool is still being committed (append-at-once.ts). For requests that it could not store, repeats among them,
// the logs are locked first; keys and ids are looked up afterwards, so that of two equal requests on any nodes
// one stores and the other finds it. Locked logs wait for the next attempt. A pool that the database refuses is retried
// tenant by tenant, so that one bad log fails alone. After any other error the state of the commit is unknown. With
// distributed tables there is one transaction per tenant from the start: a commit then involves one machine only.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import type {
  AppendOutcome,
  AppendTime,
  EpochRequest,
  EpochResult,
  OnLocked,
  SealRequest,
  SealResult,
} from '../../../streams/log.ts';
import type { AppendPool } from '../../pool/append-message.ts';
import type { PoolCommitments } from '../../pool/pool-commitments.ts';
import type { StreamWriterOptions } from '../../pool/stream-writer.ts';
import { ShortenedLog, TenantFault } from '../../pool/tenant-fault.ts';
import { AgedStreams } from './aged-streams.ts';
import { AppendAtOnce, canBeAtOnce, type Given, type Numbered, tenantsOf } from './append-at-once.ts';
import { ContentMonths } from '../schema/content-months.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import { PoolKeys } from './pool-keys.ts';
import { KnownDecisions } from './decisions.ts';
import { type Database, statement } from '../connection/database.ts';
import { beginEpoch } from './epoch-writer.ts';
import { Heads } from './heads.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { Pipeline } from '../connection/pipeline.ts';
import { LockedCommits, type TransactionScope, type Work } from './locked-commits.ts';
import { LockWait } from './lock-wait.ts';
import { endKeyWindows, sweepUsedKeys } from './swept-keys.ts';
import { KeyedQueue } from '../../../runtime/turns.ts';

export interface JournalOptions extends StreamWriterOptions {
  /** The name under which the logs are signed. */
  readonly logOrigin: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Undefined: there is nothing to seal with. */
  readonly ring?: Keyring | undefined;
  /** The logs whose streams are sealed at their age; undefined: all. */
  readonly held?: HeldShares;
}

type Result = AppendOutcome;

/** If each is of one tenant. */
export const COMMITS_AT_ONCE = 8;

const STREAM = statement('SELECT 1 FROM streams WHERE tenant_id = $1 AND stream_id = $2');
const PROBE = statement(
  `INSERT INTO meta (name, value) VALUES ('probes', '1')
   ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text`,
);

export class Journal {
  readonly #database: Database;
  readonly #options: JournalOptions;
  readonly #heads: Heads;
  readonly #agedStreams: AgedStreams;
  readonly #months: ContentMonths;
  readonly #decisions = new KnownDecisions();
  readonly #turns = new KeyedQueue();
  readonly #atOnce: AppendAtOnce;
  readonly #locked: LockedCommits;
  readonly #keys: PoolKeys | undefined;

  constructor(database: Database, options: JournalOptions) {
    this.#database = database;
    this.#options = options;
    this.#heads = new Heads(options.logOrigin);
    this.#months = new ContentMonths(database);
    const own = { heads: this.#heads, months: this.#months, decisions: this.#decisions, turns: this.#turns };
    const { ring, sealer } = options;
    const keys = ring && sealer && new PoolKeys(database, { ...options, ring, sealer });
    const parts = { ...own, keys, pipeline: new Pipeline(database), writing: options };
    this.#keys = keys;
    this.#atOnce = new AppendAtOnce({ ...parts, clock: options.clock });
    this.#locked = new LockedCommits({ ...parts, database, onFailure: () => this.#forget() });
    this.#agedStreams = new AgedStreams(database, options.held ?? HeldShares.all());
  }

  async append(
    { requests, now }: AppendPool,
    commitments: PoolCommitments,
    onLocked?: OnLocked,
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
    open = await this.#appendAtOnce(open, { commitments, now }, results);
    try {
      await this.#appendLocked(open, { commitments, now }, results, onLocked);
    } catch (error) {
      // Stored requests must be answered.
      if (decidedIn(results).size === 0) throw error;
      for (const { place } of open) results[place] ??= { status: 'Faulty', error: perhaps(error) };
    }
    return results;
  }

  /** Repeats until all are decided. */
  async #appendLocked(
    wanted: readonly Numbered[],
    given: Given,
    results: Result[],
    onLocked: OnLocked | undefined,
  ): Promise<void> {
    const wait = new LockWait(this.#options);
    let open = wanted;
    for (let attempt = 0; open.length > 0; attempt++) {
      open = wait.isLong
        ? await this.#appendWaiting(open, given, results)
        : await this.#appendOrEach(open, given, results);
      if (open.length === 0) break;
      // The decided requests need not wait for the others.
      if (attempt === 0) onLocked?.(decidedIn(results));
      if (await wait.pause()) continue;
      for (const { place } of open) results[place] = { status: 'Faulty', error: lockedTooLong() };
      break;
    }
  }

  async seal(request: SealRequest, now: AppendTime): Promise<SealResult> {
    const { tenant, streamId, once } = request;
    const scope = { wanted: [{ tenant, once, drafts: [], records: [] }], steadyNowMs: now.steadyNowMs };
    return this.#untilLocked(tenant, scope, async (writer, transaction) => {
      const isThere = (await transaction.query(STREAM, [tenant, streamId])).length > 0;
      return writer.seal(request, now, isThere);
    });
  }

  async beginEpoch(request: EpochRequest, { nowMs, steadyNowMs }: AppendTime): Promise<EpochResult> {
    const { tenant } = request;
    const scope = { wanted: [], steadyNowMs };
    return this.#untilLocked(tenant, scope, async ({ streams }, transaction, tables) => {
      const head = tables.head(tenant);
      if (head === undefined) return { status: 'Unknown' };
      return beginEpoch({ ...this.#options, transaction, streamWriter: streams }, request, head, nowMs);
    });
  }

  /** Seals a portion of the streams that have reached their age; true if there may be more. */
  async sealAged({ nowMs, steadyNowMs }: AppendTime, except: readonly TenantId[] = []): Promise<boolean> {
    const { ms } = this.#options.streams.sealAfter;
    const { tenants, hasMore } = await this.#agedStreams.next(Math.floor(nowMs / ms) * ms);
    const wanted = [...new Set(tenants).difference(new Set(except))];
    if (wanted.length > 0) await this.#sealTogetherOrEach(wanted, { nowMs, steadyNowMs });
    return hasMore;
  }

  /** Removes a portion of the keys whose window has ended; true if there may be more. */
  sweepUsedKeys(steadyNowMs: number): Promise<boolean> {
    return sweepUsedKeys(this.#database, steadyNowMs);
  }

  endKeyWindows(tenant: TenantId, beforeMs: number): Promise<boolean> {
    return endKeyWindows(this.#database, tenant, beforeMs);
  }

  /** A durable commit of almost nothing. */
  async probe(): Promise<void> {
    await this.#database.inTransaction({ role: 'Writer', tenants: [] }, (t) => t.change(PROBE));
  }

  async #sealTogetherOrEach(tenants: readonly TenantId[], now: AppendTime): Promise<void> {
    if (tenants.length > 1 && (await this.#database.isDistributed())) {
      for (const tenant of tenants) await this.#sealTogetherOrEach([tenant], now);
      return;
    }
    try {
      const scope = { tenants, wanted: [], steadyNowMs: now.steadyNowMs };
      await this.#locked.commit(scope, async ({ streams }, _, tables) => {
        for (const tenant of tenants) {
          const head = tables.head(tenant);
          // An append may have sealed it already, or holds the lock.
          if (head !== undefined && streams.isAged(head, now.nowMs)) streams.seal(head, 'Age', now.nowMs);
        }
      });
    } catch (error) {
      if (!isOfOneLog(error)) throw error;
      // A log that refuses its seal also refuses events and checkpoints, and the error is reported there.
      if (tenants.length > 1) for (const tenant of tenants) await this.#sealTogetherOrEach([tenant], now);
    }
  }

  /** Returns the requests that it could not store. */
  async #appendAtOnce(open: Numbered[], given: Given, results: Result[]): Promise<Numbered[]> {
    if (open.length === 0 || !canBeAtOnce(open) || (await this.#database.isDistributed())) return open;
    // Only the sending takes a turn: the next pool need not wait for the answer.
    const sent = await this.#turns.take('', async () => this.#atOnce.send(open, given));
    if (sent === undefined) return open;
    try {
      const stored = await sent.stored;
      const isStored = ({ request }: Numbered) => stored.has(request.tenant);
      this.#atOnce.missed(tenantsOf(open.filter((each) => !isStored(each))));
      for (const { place } of open.filter(isStored)) results[place] = sent.decided.get(place)!;
      return open.filter((each) => !isStored(each));
    } catch (error) {
      this.#forget();
      if (!isRefusal(error)) throw error;
      return open;
    }
  }

  /** Returns the requests whose logs are locked. */
  async #appendOrEach(open: readonly Numbered[], given: Given, results: Result[]): Promise<Numbered[]> {
    const tenants = tenantsOf(open);
    const ofEach = tenants.map((tenant) => open.filter(({ request }) => request.tenant === tenant));
    if (tenants.length > 1 && (await this.#database.isDistributed()))
      return this.#appendApart(ofEach, given, results);
    try {
      return await this.#appendTogether(open, given, results);
    } catch (error) {
      if (!isOfOneLog(error)) throw error;
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
   * Uses one transaction per tenant. The machine of one tenant may be unavailable: stored requests of others must be
   * answered. Throws if none was stored.
   */
  async #appendApart(ofEach: readonly Numbered[][], given: Given, results: Result[]): Promise<Numbered[]> {
    const left: Numbered[] = [];
    const failed = new Map<readonly Numbered[], unknown>();
    // In order, with this many at once.
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
    const decided = await this.#locked.commit(wishOf(open, given), decidesOn(open, given));
    for (const [place, result] of decided) results[place] = result;
    return open.filter(({ place }) => !decided.has(place));
  }

  /** Waits for the log of one tenant; returns the requests that are still open. */
  async #appendWaiting(
    open: readonly Numbered[],
    given: Given,
    results: Result[],
  ): Promise<readonly Numbered[]> {
    const own = open.filter(({ request }) => request.tenant === open[0]!.request.tenant);
    const decided = await this.#locked
      .commitWaiting(wishOf(own, given), decidesOn(own, given))
      .catch((error: unknown) => {
        if (!isOfOneLog(error)) throw error;
        return undefined;
      });
    if (decided === undefined) return this.#appendOrEach(open, given, results);
    for (const [place, result] of decided) results[place] = result;
    return open.filter(({ place }) => !decided.has(place));
  }

  /** Runs as soon as the lock of one tenant's log is free. */
  async #untilLocked<T>(
    tenant: TenantId,
    asked: Omit<TransactionScope, 'tenants'>,
    work: Work<T>,
  ): Promise<T> {
    const wait = new LockWait(this.#options);
    const scope = { tenants: [tenant], ...asked };
    const unlessSkipped: Work<{ value: T } | undefined> = async (writer, transaction, tables, heads) => {
      const [fault] = heads.faults;
      if (fault !== undefined) throw fault;
      if (heads.skipped.has(tenant)) return undefined;
      return { value: await work(writer, transaction, tables, heads) };
    };
    do {
      const done = wait.isLong
        ? await this.#locked.commitWaiting(scope, unlessSkipped)
        : await this.#locked.commit(scope, unlessSkipped);
      if (done !== undefined) return done.value;
    } while (await wait.pause());
    throw lockedTooLong();
  }

  #forget(): void {
    this.#heads.forget();
    this.#months.forget();
    this.#decisions.forget();
    this.#keys?.forget();
  }
}

function wishOf(open: readonly Numbered[], { now }: Given): TransactionScope {
  const wanted = open.map(({ request }) => request);
  return { tenants: tenantsOf(open), wanted, steadyNowMs: now.steadyNowMs };
}

/** Returns the outcomes by position; requests of skipped logs have none. */
function decidesOn(open: readonly Numbered[], { commitments, now }: Given): Work<Map<number, Result>> {
  return async (writer, _transaction, _tables, { skipped, faults }) => {
    const decided = new Map<number, Result>();
    for (const { request, place, firstRow } of open) {
      if (skipped.has(request.tenant)) continue;
      const fault = faults.find(({ tenant }) => tenant === request.tenant);
      decided.set(
        place,
        fault === undefined
          ? writer.append(request, { commitments, firstRow, now })
          : { status: 'Faulty', error: toldOf(fault) },
      );
    }
    return decided;
  };
}

/** An operator has to decide how to continue. */
const REFUSED_SECONDS = 60;

function toldOf(fault: TenantFault): Error {
  if (!(fault instanceof ShortenedLog)) return fault;
  const message = `The log of ${fault.tenant} is refused: ${fault.why}`;
  return new AuditError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: REFUSED_SECONDS });
}

/** Open requests have no result yet. */
function decidedIn(results: readonly Result[]): Map<number, Result> {
  return new Map([...results.entries()].filter(([, result]) => result !== undefined));
}

function lockedTooLong(): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', 'The log was written to by others for too long. Try again.');
}

/** For a tenant whose machine did not answer. */
function perhaps(cause: unknown): AuditError {
  return new AuditError(
    'SERVICE_UNAVAILABLE',
    'The log cannot be written at the moment; this may be stored or not. Repeat it with the same key or ids.',
    { cause },
  );
}

/** Other tenants are not affected. */
function isOfOneLog(error: unknown): error is Error {
  return isRefusal(error) || error instanceof TenantFault;
}

/** Class 23: an integrity violation, which concerns one log. */
function isRefusal(error: unknown): error is Error {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('23')
  );
}
