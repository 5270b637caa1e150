// The owner of the writing connection: the writer thread of the service, or the command line itself. After a failure
// the connection is closed and reopened before the next call, so that no uncertain state is used. The write-ahead log
// is folded into the database when idle, and at the latest when it has reached its size limit; never inside a commit
// that a caller waits for.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { KeyUse } from '../../../access/key-uses.ts';
import type { SecretKey } from '../../../keys/secret-box.ts';
import type { Clock, Timer } from '../../../runtime/clock.ts';
import { StartError } from '../../../start-error.ts';
import type { AppendTime, EpochRequest, EpochResult, SealRequest, SealResult } from '../../../streams/log.ts';
import type { IndexSpan } from '../../../streams/removal/removal.ts';
import type { CosignedCheckpoint, PublishedLog } from '../../../streams/tree.ts';
import { decodePool } from '../../pool/append-message.ts';
import { encodeResults } from '../../pool/append-results.ts';
import { inTransaction, JOURNAL_FILE, openJournal, PAGE_BYTES } from '../connection/database.ts';
import { emptyWriteAheadLogs } from '../connection/erase-traces.ts';
import { freePages } from '../connection/free-pages.ts';
import type { Redaction } from '../../rows/redaction-notice.ts';
import { deleteContents, markPurged, noncesFor, punctureContents } from '../log/deletions.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { keepKeyUses } from '../records/key-uses.ts';
import { readInstallation, settleSigner } from '../connection/meta.ts';
import type { PoolCommitments } from '../../pool/pool-commitments.ts';
import { secretKeyRows } from '../records/secret-keys.ts';
import { type ClosedKeys, closeKeys, keyRowsOf } from '../records/tenant-keys.ts';
import { runSync } from '../../resumable.ts';
import { destroyKeys, renewKeys } from '../../sealing/key-changes.ts';
import { provideSecretKey, usableSecretKey } from '../../sealing/secret-keys.ts';
import { addTenants, type NewTenant, replaceFingerprintKey } from '../records/tenants.ts';
import { endKeyWindows } from './used-keys.ts';
import { TreePublisher } from '../tree/tree-publisher.ts';
import { VIEWS_FILE } from '../event-index/views-database.ts';
import { WORK_FILE } from '../work/work-database.ts';
import { WriteAheadLog } from '../connection/write-ahead-log.ts';

export interface JournalOwnerOptions extends JournalOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Opens what is sealed; undefined: nothing is. */
  readonly sealed?: SealedRows;
}

interface Opened {
  readonly db: DatabaseSync;
  readonly wal: WriteAheadLog;
  readonly journal: Journal;
  readonly publisher: TreePublisher;
}

/** Large enough to fold a page once for many commits, small enough to fold in tens of milliseconds. */
const UNFOLDED_PAGES_MAX = (16 * 1024 * 1024) / PAGE_BYTES;
const IDLE_MS = 50;

export class JournalOwner implements Disposable {
  readonly #options: JournalOwnerOptions;
  #opened: Opened | undefined;
  #idle: Timer | undefined;
  #fold: NodeJS.Immediate | undefined;

  constructor(options: JournalOwnerOptions) {
    this.#options = options;
    this.#open();
  }

  /** Returns the results in the pool's buffer. */
  append(message: ArrayBuffer, made?: PoolCommitments): ArrayBuffer {
    const pool = decodePool(message);
    const commitments = made ?? this.#options.committer.make(pool.requests);
    return encodeResults(
      this.#orOpenAnew(({ journal }) => journal.append(pool, commitments)),
      message,
    );
  }

  seal(request: SealRequest, now: AppendTime): SealResult {
    return this.#orOpenAnew(({ journal }) => journal.seal(request, now));
  }

  beginEpoch(request: EpochRequest, now: AppendTime): EpochResult {
    return this.#orOpenAnew(({ journal }) => journal.beginEpoch(request, now));
  }

  sealAged(now: AppendTime, except: readonly TenantId[] = []): boolean {
    return this.#orOpenAnew(({ journal }) => journal.sealAged(now, except));
  }

  addTenants(tenants: readonly NewTenant[], nowMs: number): void {
    this.#orOpenAnew(({ db }) => inTransaction(db, () => addTenants(db, tenants, nowMs)));
  }

  replaceFingerprintKey(tenant: NewTenant): void {
    this.#orOpenAnew(({ db }) => inTransaction(db, () => replaceFingerprintKey(db, tenant)));
  }

  settleSigner(fingerprint: string): string {
    return this.#orOpenAnew(({ db }) => inTransaction(db, () => settleSigner(db, fingerprint)));
  }

  removeOlderKeys(tenantId: TenantId | '*'): void {
    this.#orOpenAnew(({ db }) => db.prepare('DELETE FROM api_keys WHERE tenant_id = ?').run(tenantId));
  }

  keepKeyUses(uses: readonly KeyUse[]): void {
    this.#orOpenAnew(({ db }) => inTransaction(db, () => keepKeyUses(db, uses)));
  }

  publish(logs: readonly PublishedLog[], nowMs: number): void {
    this.#orOpenAnew(({ db, publisher }) => inTransaction(db, () => publisher.publish(logs, nowMs)));
  }

  cosign(checkpoints: readonly CosignedCheckpoint[]): boolean[] {
    return this.#orOpenAnew(({ db, publisher }) => inTransaction(db, () => publisher.cosign(checkpoints)));
  }

  deleteContents(tenant: TenantId, spans: readonly IndexSpan[]): void {
    this.#orOpenAnew(({ db }) => inTransaction(db, () => deleteContents(db, tenant, spans)));
  }

  punctureContents(tenant: TenantId, redactions: readonly Redaction[]): void {
    const sealed = this.#options.sealed ?? new SealedRows(undefined);
    this.#orOpenAnew(({ db }) => {
      const nonces = inTransaction(db, () => noncesFor(db, tenant, redactions));
      inTransaction(db, () => punctureContents(db, tenant, redactions, { sealed, nonces }));
    });
  }

  /** False where a reader was in the way. */
  emptyWriteAheadLogs(): boolean {
    return emptyWriteAheadLogs(this.#options.directory, [JOURNAL_FILE, VIEWS_FILE, WORK_FILE]);
  }

  markPurged(tenant: TenantId, streamFirstIndex: number, nowMs: number): void {
    this.#orOpenAnew(({ db }) => markPurged(db, tenant, streamFirstIndex, nowMs));
  }

  reclaimSpace(): boolean {
    return this.#orOpenAnew(({ db }) => freePages(db));
  }

  closeKeys(tenant: TenantId, closed: ClosedKeys): void {
    this.#orOpenAnew(({ db }) => inTransaction(db, () => closeKeys(db, tenant, closed)));
    this.#options.sealer?.forget();
  }

  renewKeys(tenant: TenantId): number {
    const { ring, random } = this.#options;
    if (ring === undefined) return 0;
    return this.#orOpenAnew(({ db }) =>
      inTransaction(db, () => runSync(renewKeys(tenant, keyRowsOf(db, tenant), { ring, random }))),
    );
  }

  destroyKeys(tenant: TenantId, unused: readonly string[]): string[] {
    return this.#orOpenAnew(({ db }) =>
      inTransaction(db, () => runSync(destroyKeys(keyRowsOf(db, tenant), new Set(unused)))),
    );
  }

  provideSecretKey(tenant: TenantId): SecretKey {
    const { ring, random, nextId, clock } = this.#options;
    if (ring === undefined) throw new Error('there is no keyring to seal a key with');
    const parts = { ring, random, nextId, nowMs: clock.now() };
    return this.#orOpenAnew(({ db }) =>
      inTransaction(db, () => runSync(provideSecretKey(tenant, secretKeyRows(db, tenant), parts))),
    );
  }

  /** Undefined for one that is not there, or does not open. */
  secretKey(tenant: TenantId, keyId: string): SecretKey | undefined {
    const stored = this.#orOpenAnew(({ db }) => secretKeyRows(db, tenant).find(keyId));
    return stored && usableSecretKey(tenant, stored, this.#options.ring);
  }

  sweepUsedKeys(steadyNowMs: number): boolean {
    return this.#orOpenAnew(({ journal }) => journal.sweepUsedKeys(steadyNowMs));
  }

  endKeyWindows(tenant: TenantId, beforeMs: number): boolean {
    return this.#orOpenAnew(({ db }) => endKeyWindows(db, tenant, beforeMs));
  }

  /** A durable commit of almost nothing. */
  probe(): void {
    this.#orOpenAnew(({ db }) =>
      inTransaction(db, () =>
        db.exec("INSERT INTO meta VALUES ('probes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"),
      ),
    );
  }

  /** Folds the write-ahead log now if it is full, or soon if there is no other work. */
  #foldInTime(): void {
    this.#idle?.cancel();
    this.#tend((wal) => {
      this.#opened?.journal.moveKeys();
      const pages = wal.unfoldedPages();
      if (pages >= UNFOLDED_PAGES_MAX) wal.fold();
      else if (pages > 0)
        this.#idle = this.#options.clock.after(IDLE_MS, () => this.#tend((open) => open.fold()));
    });
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#fold);
    this.#idle?.cancel();
    this.#close();
  }

  #open(): Opened {
    if (this.#opened !== undefined) return this.#opened;
    const { directory, logOrigin } = this.#options;
    const db = openJournal(directory, { mayCreate: false });
    try {
      if (readInstallation(db)?.logOrigin !== logOrigin) {
        throw new StartError(`the journal in ${directory} does not belong to ${logOrigin}`);
      }
      this.#opened = {
        db,
        wal: new WriteAheadLog(db),
        journal: new Journal(db, this.#options),
        publisher: new TreePublisher(db),
      };
    } catch (error) {
      db.close();
      throw error;
    }
    return this.#opened;
  }

  #close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    try {
      opened?.db.close();
    } catch {
      // A connection that failed may not close cleanly; the next one recovers from the files.
    }
  }

  #orOpenAnew<T>(work: (opened: Opened) => T): T {
    const opened = this.#open();
    // Only after the answer is sent.
    this.#fold ??= setImmediate(() => {
      this.#fold = undefined;
      this.#foldInTime();
    });
    try {
      return work(opened);
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  #tend(work: (wal: WriteAheadLog) => void): void {
    if (this.#opened === undefined) return;
    try {
      work(this.#opened.wal);
    } catch {
      // Commits are safe in the write-ahead log; the next commit shows whether the disk still works.
      this.#close();
    }
  }
}
