// Copies the log of a stopped service, with all that belongs to it, from its data directory into an empty PostgreSQL
// database. What is copied is verified before, and every row is read back after. It can be killed at any line, and goes on
// where it was when it is run again: until all of it is there and is the same, the database says so and is not served; and
// from the moment on that anything was written there, so does the data directory (files/moved-store.ts).

import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AuditError } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';
import { checkStore, isStore, type StoreReport } from '../check-store.ts';
import { ConfigError } from '../config/config-error.ts';
import { databaseUrls } from '../config/database-urls.ts';
import type { Config } from '../config/settings.ts';
import { keyringOf } from '../keyring-place.ts';
import { instant, systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { StartError } from '../start-error.ts';
import type { Installation } from '../storage/installation.ts';
import { type Move, readMove, writeMove } from '../storage/files/moved-store.ts';
import type { CopyTarget } from '../storage/postgres/copy/copy-target.ts';
import { COPIED_TABLES, portionsOf } from '../storage/rows/copied-tables.ts';
import { loadSigningKeys } from '../storage/keys/signing-key-files.ts';
import { CopiedRows } from '../storage/sqlite/copy/copied-rows.ts';
import { openJournal } from '../storage/sqlite/connection/database.ts';
import { takeLock } from '../storage/sqlite/connection/lock.ts';
import { readInstallation } from '../storage/sqlite/connection/meta.ts';
import { compareCopy, CopyDiffers } from './compare-copy.ts';
import type { CopiedLog } from './copied-logs.ts';
import { type CopyStart, copyStart } from './copy-start.ts';

export interface CopyProgress {
  readonly phase: 'Verifying' | 'Copying' | 'Comparing';
  /** Entries while it verifies, rows after that. */
  readonly done: number;
  readonly total: number;
}

export interface CopiedStore {
  /** The database, without a credential. */
  readonly to: string;
  readonly how: CopyStart['how'];
  readonly tenants: number;
  readonly rows: number;
  /** The same on both sides; none where all was there before. */
  readonly logs: readonly CopiedLog[];
}

type OnProgress = (progress: CopyProgress) => void;

/** Throws StartError, and ConfigError where there is nothing to copy from or to. */
export async function copyStore(config: Config, onProgress: OnProgress): Promise<CopiedStore> {
  const { dataDirectory: directory, ownerUrl } = config.storage;
  const urls = databaseUrls(config.storage);
  if (urls === undefined) throw new ConfigError(['name the database to copy to by --to or Storage__Url']);
  if (!isStore(directory))
    throw new ConfigError([`there is no data in ${resolve(directory)}: name a data directory by --from`]);
  using _ = takeLock(directory);
  using db = openJournal(directory, { mayCreate: false });
  // Nobody else writes to it until this ends, commands included.
  db.exec('BEGIN IMMEDIATE');
  const installation = readInstallation(db);
  if (installation === undefined) throw new StartError(`no service was started on ${directory}`);
  if (db.prepare('SELECT 1 FROM api_keys').get() !== undefined)
    throw new StartError(`${directory} has API keys of an older version: start the service on it once`);
  // Loaded where it is needed.
  const { openCopyTarget } = await import('../storage/postgres/copy/copy-target.ts');
  await using target = await openCopyTarget({
    ...urls,
    ownerUrl: ownerUrl?.reveal(),
    saidIn: '--to or Storage__Url',
  });
  try {
    return await new Copy(db, installation, target, config).run(onProgress);
  } catch (error) {
    throw error instanceof AuditError ? interrupted(error) : error;
  }
}

class Copy {
  readonly #installation: Installation;
  readonly #target: CopyTarget;
  readonly #config: Config;
  readonly #directory: string;
  readonly #source: CopiedRows;

  constructor(db: DatabaseSync, installation: Installation, target: CopyTarget, config: Config) {
    this.#installation = installation;
    this.#target = target;
    this.#config = config;
    this.#directory = config.storage.dataDirectory;
    this.#source = new CopiedRows(db, installation.logOrigin);
  }

  async run(onProgress: OnProgress): Promise<CopiedStore> {
    const target = this.#target;
    const move = readMove(this.#directory);
    const start = copyStart(await target.state(), move, this.#installation);
    const facts = { to: target.place, how: start.how };
    if (start.how === 'Before') {
      if (move?.state !== 'Moved') await this.#move('Moved', start.copyId);
      return { ...facts, tenants: 0, rows: 0, logs: [] };
    }
    const { totals } = await this.#verified(onProgress);
    const copyId = start.how === 'GoOn' ? start.copyId : await this.#begin(start.how === 'Anew');
    const total = COPIED_TABLES.reduce((sum, table) => sum + this.#source.count(table), 0);
    await this.#copyRows(counting('Copying', total, onProgress));
    const logs = await this.#compared(copyId, counting('Comparing', total, onProgress));
    await target.analyze();
    // In this order: the one is closed before the other is opened.
    await this.#move('Moved', copyId);
    await target.mark({ state: 'Whole', copyId });
    return { ...facts, tenants: totals.tenants, rows: total, logs };
  }

  /** All that is evidence, against itself, the keys and the anchor; throws StartError at the first fault. */
  async #verified(onProgress: OnProgress): Promise<StoreReport> {
    const report = await checkStore(this.#directory, {
      isWithoutIndex: true,
      keys: [],
      seen: [],
      anchor: this.#config.log.anchor,
      keyring: keyringOf(this.#config),
      onProgress: ({ entries, entriesTotal }) =>
        onProgress({ phase: 'Verifying', done: entries, total: entriesTotal }),
    });
    const [fault, ...more] = report.faults;
    if (fault === undefined) return report;
    const { tenant, index, reason, message } = fault;
    const where = `${tenant === undefined ? 'the store' : `tenant ${tenant}`}${index === undefined ? '' : `, index ${index}`}`;
    const others = more.length === 0 ? '' : `, and ${more.length} more`;
    throw new StartError(
      `${this.#directory} is not verified, and nothing was copied: ${where}: ${reason} (${message})${others}; tallystick verify ${this.#directory} says more`,
    );
  }

  async #begin(isAnew: boolean): Promise<string> {
    const copyId = createUlids(systemClock, createSystemRandom())();
    const signer = (await loadSigningKeys(this.#directory))?.at(-1)?.fingerprint;
    // Before anything is written there: from now on this directory does not change.
    await this.#move('Copying', copyId);
    if (isAnew) await this.#target.empty();
    await this.#target.begin(copyId, this.#installation, signer);
    return copyId;
  }

  /** Each table from where an earlier attempt has ended. */
  async #copyRows(onRows: (rows: number) => void): Promise<void> {
    for (const table of COPIED_TABLES) {
      const last = await this.#target.lastKey(table);
      let copied = 0;
      for (const portion of portionsOf(this.#source.rows(table, last))) {
        await orStartError(table.name, () => this.#target.put(table, portion));
        copied += portion.length;
        onRows(portion.length);
      }
      // What was there before counts, too.
      if (last !== undefined) onRows(this.#source.count(table) - copied);
    }
  }

  async #compared(copyId: string, onRows: (rows: number) => void): Promise<CopiedLog[]> {
    try {
      return await compareCopy(this.#source, this.#target, onRows);
    } catch (error) {
      if (!(error instanceof CopyDiffers)) throw error;
      await this.#target.mark({ state: 'Differs', copyId });
      throw new StartError(
        `the copy is not what was copied: ${error.message}. It is not served; run it again to begin anew`,
        { cause: error },
      );
    }
  }

  async #move(state: Move['state'], copyId: string): Promise<void> {
    await writeMove(this.#directory, {
      state,
      to: this.#target.place,
      copyId,
      at: instant(systemClock.now()),
    });
  }
}

function counting(
  phase: CopyProgress['phase'],
  total: number,
  onProgress: OnProgress,
): (rows: number) => void {
  let done = 0;
  return (rows) => onProgress({ phase, done: (done += rows), total });
}

/** Adds the table to an error of the database; the rows before it are stored. */
async function orStartError(table: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof Error && 'severity' in cause) && !(cause instanceof EvidenceError)) throw cause;
    throw new StartError(`rows of ${table} could not be copied: ${cause.message}`, { cause });
  }
}

function interrupted(error: AuditError): StartError {
  const why = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return new StartError(`${error.message}${why} Run it again: it goes on where it was.`, { cause: error });
}
