// Appends to journal.db: one transaction for a whole pool of requests of many tenants. Commitments are made before the
// lock is taken; keys and ids are looked up after it, so that of two equal requests one stores and the other finds it.
// A faulty request is left out, and the others commit without it. Streams are sealed in the same way. After an error
// the state of the commit is unknown, and the owner reopens the database.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type {
  AppendOutcome,
  AppendTime,
  EpochRequest,
  EpochResult,
  SealRequest,
  SealResult,
} from '../../../streams/log.ts';
import { AgedStreams } from './aged-streams.ts';
import type { AppendPool, PooledRequest } from '../../pool/append-message.ts';
import { PoolWriter } from '../../pool/pool-writer.ts';
import type { StreamWriterOptions } from '../../pool/stream-writer.ts';
import { TenantFault } from '../../pool/tenant-fault.ts';
import { MissingKeys } from '../../sealing/pool-sealer.ts';
import type { Keyring } from '../../sealing/keyring.ts';
import { JournalKeys } from './journal-keys.ts';
import { ChainGuard } from './chain-guard.ts';
import { inTransaction } from '../connection/database.ts';
import { EpochWriter } from './epoch-writer.ts';
import { Heads, type NumberedHead } from './heads.ts';
import type { PoolCommitments } from '../../pool/pool-commitments.ts';
import { SqlitePoolTables } from './pool-tables.ts';
import { UsedIdempotencyKeys } from './used-keys.ts';

export interface JournalOptions extends StreamWriterOptions {
  /** The name under which the logs are signed. */
  readonly logOrigin: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Undefined: there is nothing to seal with. */
  readonly ring?: Keyring | undefined;
}

type Result = AppendOutcome;

export class Journal {
  readonly #db: DatabaseSync;
  readonly #heads: Heads;
  readonly #usedKeys: UsedIdempotencyKeys;
  readonly #tables: SqlitePoolTables;
  readonly #writer: PoolWriter<NumberedHead>;
  readonly #epochWriter: EpochWriter;
  readonly #agedStreams: AgedStreams;
  readonly #stream: StatementSync;
  readonly #chainGuard: ChainGuard;
  readonly #keys: JournalKeys | undefined;

  constructor(db: DatabaseSync, options: JournalOptions) {
    this.#db = db;
    this.#heads = new Heads(db, options.logOrigin);
    this.#usedKeys = new UsedIdempotencyKeys(db);
    this.#tables = new SqlitePoolTables(db, this.#heads, this.#usedKeys);
    this.#writer = new PoolWriter(this.#tables, options);
    this.#epochWriter = new EpochWriter(db, this.#writer.streams, options);
    this.#agedStreams = new AgedStreams(db);
    this.#stream = db.prepare('SELECT 1 FROM streams WHERE stream_id = ? AND tenant = ?');
    this.#chainGuard = new ChainGuard(db);
    this.#keys =
      options.ring &&
      options.sealer &&
      new JournalKeys(db, { ...options, ring: options.ring, sealer: options.sealer });
  }

  append({ requests, now }: AppendPool, commitments: PoolCommitments): Result[] {
    const faults = new Map<PooledRequest, Error>();
    for (const [i, message] of commitments.faults) faults.set(requests[i]!, new Error(message));
    for (;;) {
      try {
        return this.#commit(() => {
          let row = 0;
          return requests.map((request): Result => {
            const firstRow = row;
            row += request.drafts.length;
            const fault = faults.get(request);
            if (fault !== undefined) return { status: 'Faulty', error: fault };
            return this.#writer.append(request, { commitments, firstRow, now });
          });
        });
      } catch (error) {
        const fault = error instanceof MissingKeys ? this.#keys!.provide(error.months) : error;
        if (fault === undefined) continue;
        if (!(fault instanceof TenantFault)) throw fault;
        const own = requests.filter((request) => request.tenant === fault.tenant && !faults.has(request));
        // The next attempt would leave nothing out.
        if (own.length === 0) throw fault;
        for (const request of own) faults.set(request, fault);
      }
    }
  }

  seal(request: SealRequest, now: AppendTime): SealResult {
    return this.#commit(() => {
      const head = this.#heads.of(request.tenant);
      const isThere = head !== undefined && this.#stream.get(request.streamId, head.tenant) !== undefined;
      return this.#writer.seal(request, now, isThere);
    });
  }

  beginEpoch(request: EpochRequest, { nowMs }: AppendTime): EpochResult {
    return this.#commit(() => {
      const head = this.#heads.of(request.tenant);
      return head === undefined ? { status: 'Unknown' } : this.#epochWriter.begin(request, head, nowMs);
    });
  }

  /** Seals a portion of the streams that have reached their age; true if there may be more. */
  sealAged({ nowMs }: AppendTime, except: readonly TenantId[] = []): boolean {
    const { tenants, hasMore } = this.#agedStreams.next(this.#writer.streams.lastCutMs(nowMs));
    const wanted = new Set(tenants).difference(new Set(except));
    while (wanted.size > 0) {
      try {
        this.#commit(() => this.#sealIfAged(wanted, nowMs));
        break;
      } catch (error) {
        // A log that refuses its seal also refuses events and checkpoints, and the error is reported there.
        if (!(error instanceof TenantFault) || !wanted.delete(error.tenant)) throw error;
      }
    }
    return hasMore;
  }

  /** Some of the work that is left for moments when nobody waits; true if there is more. */
  moveKeys(): boolean {
    return this.#usedKeys.moveSome();
  }

  /** Removes a portion of the keys whose window has ended; true if there may be more. */
  sweepUsedKeys(steadyNowMs: number): boolean {
    return this.#usedKeys.sweep(steadyNowMs);
  }

  /** One transaction with up-to-date heads; its entries are checked before it is committed. */
  #commit<T>(work: () => T): T {
    try {
      return inTransaction(this.#db, () => {
        this.#heads.refresh();
        this.#keys?.begin(this.#heads.version);
        this.#tables.begin();
        const firstId = this.#heads.nextId;
        const result = work();
        this.#tables.demandKeys();
        this.#chainGuard.demandChain(firstId);
        return result;
      });
    } catch (error) {
      this.#heads.forget();
      throw error;
    }
  }

  #sealIfAged(tenants: Iterable<TenantId>, nowMs: number): void {
    for (const tenant of tenants) {
      const head = this.#heads.of(tenant);
      // An append may have sealed it already.
      if (head === undefined || !this.#writer.streams.isAged(head, nowMs)) continue;
      this.#writer.streams.seal(head, 'Age', nowMs);
    }
  }
}
