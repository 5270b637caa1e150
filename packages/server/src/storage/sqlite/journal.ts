// Appending to journal.db: one transaction for a whole pool of requests of many tenants. Commitments are there before
// the lock is taken; keys and ids are looked up after it, so that of two that ask the same thing one stores and the
// other finds it. A request with a fault of its own is left out and the rest commits without it. Sealing a stream is
// done in the same way. When anything is thrown, nothing is known of the commit: the owner opens the database anew.

import { ok as assert } from 'node:assert/strict';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type {
  AppendFault,
  AppendResult,
  AppendTime,
  DraftOutcome,
  EpochRequest,
  EpochResult,
  SealRequest,
  SealResult,
} from '../../streams/log.ts';
import { AgedStreams } from './aged-streams.ts';
import type { AppendPool, PooledDraft, PooledRequest } from './append-message.ts';
import { ChainGuard, orTenantFault, TenantFault } from './chain-guard.ts';
import { inTransaction } from './database.ts';
import { EpochWriter } from './epoch-writer.ts';
import { type Head, Heads } from './heads.ts';
import type { PoolCommitments } from './pool-commitments.ts';
import { type Recognized, Recognizer } from './recognizer.ts';
import { StreamWriter, type StreamWriterOptions } from './stream-writer.ts';
import { UsedKeys } from './used-keys.ts';

export interface JournalOptions extends StreamWriterOptions {
  /** The name under which the logs are signed. */
  readonly logOrigin: string;
}

type Result = AppendResult | AppendFault;

/** What the drafts of a request are appended with. */
interface Given {
  readonly commitments: PoolCommitments;
  /** That of its first draft. */
  readonly firstRow: number;
  readonly now: AppendTime;
}

export class Journal {
  readonly #db: DatabaseSync;
  readonly #heads: Heads;
  readonly #usedKeys: UsedKeys;
  readonly #recognizer: Recognizer;
  readonly #streamWriter: StreamWriter;
  readonly #epochWriter: EpochWriter;
  readonly #agedStreams: AgedStreams;
  readonly #stream: StatementSync;
  readonly #chainGuard: ChainGuard;

  constructor(db: DatabaseSync, options: JournalOptions) {
    this.#db = db;
    this.#heads = new Heads(db, options.logOrigin);
    this.#usedKeys = new UsedKeys(db);
    this.#recognizer = new Recognizer(db);
    this.#streamWriter = new StreamWriter(db, this.#heads, options);
    this.#epochWriter = new EpochWriter(db, this.#streamWriter, options);
    this.#agedStreams = new AgedStreams(db);
    this.#stream = db.prepare('SELECT 1 FROM streams WHERE stream_id = ? AND tenant = ?');
    this.#chainGuard = new ChainGuard(db);
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
            return this.#appendRequest(request, { commitments, firstRow, now });
          });
        });
      } catch (error) {
        if (!(error instanceof TenantFault)) throw error;
        const own = requests.filter((request) => request.tenant === error.tenant && !faults.has(request));
        // Nothing would be left out of the next attempt.
        if (own.length === 0) throw error;
        for (const request of own) faults.set(request, error);
      }
    }
  }

  seal({ tenant, streamId, once }: SealRequest, now: AppendTime): SealResult {
    return this.#commit(() => {
      const head = this.#heads.of(tenant);
      if (head === undefined) return { status: 'Unknown' };
      const answered = this.#usedKeys.answer(head.tenant, once, now.steadyNowMs);
      if (answered !== undefined) return answered;
      if (this.#stream.get(streamId, head.tenant) === undefined) return { status: 'Unknown' };
      if (head.stream?.streamId !== streamId) return { status: 'SealedBefore' };
      if (head.stream.firstReceivedAtMs === undefined) return { status: 'Empty' };
      const notice = this.#streamWriter.seal(head, 'Request', now.nowMs);
      if (once !== undefined) this.#usedKeys.put(head.tenant, once, [notice]);
      return { status: 'Sealed', notice };
    });
  }

  beginEpoch(request: EpochRequest, { nowMs }: AppendTime): EpochResult {
    return this.#commit(() => {
      const head = this.#heads.of(request.tenant);
      return head === undefined ? { status: 'Unknown' } : this.#epochWriter.begin(request, head, nowMs);
    });
  }

  /** Seals a portion of the streams that have reached their age; true when there may be more. */
  sealAged({ nowMs }: AppendTime, except: readonly TenantId[] = []): boolean {
    const { tenants, hasMore } = this.#agedStreams.next(this.#streamWriter.lastCutMs(nowMs));
    const wanted = new Set(tenants).difference(new Set(except));
    while (wanted.size > 0) {
      try {
        this.#commit(() => this.#sealIfAged(wanted, nowMs));
        break;
      } catch (error) {
        // A log that refuses its seal refuses events and checkpoints too: whoever needs it is told there.
        if (!(error instanceof TenantFault) || !wanted.delete(error.tenant)) throw error;
      }
    }
    return hasMore;
  }

  /** Removes a portion of the keys whose window has ended; true when there may be more. */
  sweepUsedKeys(steadyNowMs: number): boolean {
    return this.#usedKeys.sweep(steadyNowMs);
  }

  /** One transaction upon heads that are right; what was written in it is looked over before it is committed. */
  #commit<T>(work: () => T): T {
    try {
      return inTransaction(this.#db, () => {
        this.#heads.refresh();
        const firstId = this.#heads.nextId;
        const result = work();
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
      // An append may have been faster.
      if (head === undefined || !this.#streamWriter.isAged(head, nowMs)) continue;
      orTenantFault(tenant, () => this.#streamWriter.seal(head, 'Age', nowMs));
    }
  }

  #appendRequest(request: PooledRequest, given: Given): Result {
    const head = this.#heads.of(request.tenant);
    if (head === undefined) {
      return { status: 'Faulty', error: new Error(`there is no tenant ${request.tenant}`) };
    }
    const { once } = request;
    const answered = this.#usedKeys.answer(head.tenant, once, given.now.steadyNowMs);
    if (answered !== undefined) return answered;
    const outcomes = this.#place(request, head, given);
    if (once !== undefined && outcomes.some((outcome) => 'index' in outcome)) {
      this.#usedKeys.put(head.tenant, once, outcomes);
    }
    return { status: 'Done', outcomes };
  }

  #place(
    { tenant, drafts, atomic }: PooledRequest,
    head: Head,
    { commitments, firstRow, now }: Given,
  ): DraftOutcome[] {
    const recognized = this.#recognizer.recognize(head.tenant, drafts);
    if (atomic && recognized.some((found) => found === 'Conflict')) {
      return drafts.map(({ eventId }, i) => ({
        status: recognized[i] === 'Conflict' ? 'Conflict' : 'NotAppended',
        eventId,
      }));
    }
    const outcomes: DraftOutcome[] = [];
    orTenantFault(tenant, () => {
      for (let i = 0; i < drafts.length; i++) {
        const draft = drafts[i]!;
        const found = outcomeOf(recognized[i], draft, outcomes);
        outcomes.push(found ?? this.#streamWriter.append(draft, commitments, firstRow + i, head, now.nowMs));
      }
    });
    return outcomes;
  }
}

/** Of a draft whose id is there already; undefined for one that is to be appended. */
function outcomeOf(
  found: Recognized,
  { eventId }: PooledDraft,
  before: readonly DraftOutcome[],
): DraftOutcome | undefined {
  if (found === undefined) return undefined;
  if (found === 'Conflict') return { status: 'Conflict', eventId };
  const placed = typeof found === 'number' ? before[found] : found;
  assert(placed !== undefined && 'index' in placed, 'an earlier draft with the same id was appended');
  return { status: 'Duplicate', eventId, index: placed.index, receivedAtMs: placed.receivedAtMs };
}
