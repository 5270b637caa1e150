// Verifies a data directory or a database for the command line, whether the service runs or not. It takes no lock and
// writes nothing: one read transaction sees one state, and the report is about that state.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AuditError } from '@tallystick/contract';
import {
  INSTALLATION,
  EvidenceError,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
} from '@tallystick/evidence';
import { PastHolds } from './holds/past-holds.ts';
import { PastDecisions } from './policies/past-decisions.ts';
import { PastPeriods } from './policies/past-periods.ts';
import { systemClock, wait } from './runtime/clock.ts';
import { StartError } from './start-error.ts';
import { hasAnchor } from './storage/anchor/files.ts';
import { newestIn } from './storage/anchor/format.ts';
import { loadSigningKeys } from './storage/keys/signing-key-files.ts';
import { JOURNAL_FILE } from './storage/sqlite/connection/database.ts';
import { openUnwritten } from './storage/sqlite/connection/journal-at-rest.ts';
import type { FsckProgress, FsckReport } from './storage/fsck/fsck.ts';
import { checkJournal } from './storage/sqlite/fsck/fsck.ts';
import { type StoreFault, storeFault } from './storage/fsck/store-fault.ts';
import { type IndexReport, indexFaults } from './storage/fsck/index-faults.ts';
import { plainKeyring } from './storage/sealing/open-keyring.ts';
import { SealedRows } from './storage/sealing/sealed-rows.ts';
import { Keyring } from './storage/sealing/keyring.ts';
import { type KeyringFile, readKeyring } from './storage/sealing/keyring-file.ts';
import type { Awaitable } from './storage/resumable.ts';
import { hasKeys } from './storage/sqlite/records/tenant-keys.ts';
import { readInstallation } from './storage/sqlite/connection/meta.ts';
import {
  type ComparedViews,
  openComparedViews,
  unreadable,
} from './storage/sqlite/event-index/compared-views.ts';
import { faultOf, isDamage } from './storage/sqlite/fsck/damage.ts';
import { type AnchorSnapshots, readAnchorHistoryAt } from './storage/fsck/memory.ts';
import { NoteReader, type TrustedKey } from './storage/fsck/notes.ts';
import type { AnchoredHead } from './streams/anchor/anchor.ts';

export { hasAnchor, plainKeyring, type StoreFault };

export interface StoreCheckRequest {
  /** Verifier keys, of any of the logs: one key signs them all. None: those beside the data. */
  readonly keys: readonly string[];
  /** Checkpoints seen before, as signed notes: the logs must extend them. */
  readonly seen: readonly string[];
  readonly tenant?: string | undefined;
  /** The file, or the directory it is in; undefined: the data directory. */
  readonly anchor?: string | undefined;
  /** Undefined: a file of secrets in the data directory. */
  readonly keyring?: KeyringFile | undefined;
  /** Skips the comparison of the index. */
  readonly isWithoutIndex?: boolean;
  readonly onProgress?: (progress: FsckProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface StoreReport extends FsckReport {
  readonly index: IndexReport;
  readonly verified: boolean;
  /** Whose signatures count: of keys that were handed in, or of those that lie beside the data. */
  readonly keysFrom: 'Given' | 'DataDirectory';
  readonly totals: StoreTotals;
}

export interface StoreTotals {
  /** Without the installation, whose log counts with all others. */
  readonly tenants: number;
  readonly entries: number;
  readonly values: number;
  /** Entries whose content is gone under a notice that explains it. */
  readonly deleted: number;
  /** Entries whose content is gone, and no notice that was read explains it. */
  readonly unexplained: number;
  /** Entries whose content is stored although a signed notice says that it, or a part of it, was deleted. */
  readonly undeleted: number;
  /** Events of which it is not known what has decided when they expire. */
  readonly undecided: number;
  readonly streams: number;
  readonly tiles: number;
  readonly checkpoints: number;
}

type CheckedStore = FsckReport & Pick<StoreReport, 'index'>;

/** So many lots are checked before others have their turn: a fraction of a second. */
const LOTS_AT_ONCE = 64;

/** Whether the directory can hold a store at all; an empty one cannot. */
export function isStore(directory: string): boolean {
  return statSync(join(directory, JOURNAL_FILE), { throwIfNoEntry: false })?.isFile() === true;
}

/** Throws StartError if the store cannot be verified at all; faults of the data are in the report. */
export async function checkStore(directory: string, request: StoreCheckRequest): Promise<StoreReport> {
  if (!isStore(directory))
    throw new StartError(`there is no data in ${directory}: it has no ${JOURNAL_FILE}`);
  const keys = await trustedKeys(directory, request.keys);
  const keysFrom = request.keys.length > 0 ? 'Given' : 'DataDirectory';
  let report: CheckedStore;
  try {
    report = await checkWithin(directory, request, keys);
  } catch (error) {
    const cause = error instanceof StartError ? error.cause : error;
    if (!isDamage(cause)) throw error;
    const { index } = notCompared('the log cannot be read');
    report = { faults: [storeFault(undefined, faultOf(cause))], tenants: [], notEvidence: {}, index };
  }
  return { ...report, verified: report.faults.length === 0, keysFrom, totals: totalsOf(report) };
}

export interface DatabaseCheckRequest extends StoreCheckRequest {
  /** With the keys and the anchor that belong to the database; undefined: they are given. */
  readonly directory: string | undefined;
  /** The origin of the URL, for the message that nobody answers there. */
  readonly setting: string;
}

/** The same of a database. */
export async function checkDatabase(url: string, request: DatabaseCheckRequest): Promise<StoreReport> {
  const { directory, tenant } = request;
  const place = request.anchor ?? directory;
  if (place === undefined) throw new StartError('there is no anchor to compare the database with');
  const keys = await trustedKeys(directory, request.keys);
  const keysFrom = request.keys.length > 0 ? 'Given' : 'DataDirectory';
  const seen = request.seen.map((note) => seenHead(note, keys));
  // Loaded here: the verification of a data directory does not wait for the database driver.
  const { comparedIndex, openForVerifying, verifiedState } = await import(
    './storage/postgres/verified-state.ts'
  );
  const fsck = await import('./storage/postgres/fsck/fsck.ts');
  await using database = await openForVerifying(url, request.setting);
  const before = await readingOf(place);
  try {
    await using state = await verifiedState(database);
    // Also where nobody wants to know: from here on one state is seen, and what is anchored by now is no smaller.
    const isThere = await fsck.hasTenant(state, tenant ?? '');
    requireTenant(isThere, tenant);
    const remembered = { anchor: readingsOf(before, await readingOf(place)), seen };
    const onProgress = (progress: FsckProgress) => {
      request.onProgress?.(progress);
      request.signal?.throwIfAborted();
    };
    using ring = await ringToVerify(directory, request, () => fsck.hasKeys(state));
    const options = { keys, remembered, ...PAST, tenant, ring };
    const checked = await fsck.checkDatabase(state, options, onProgress);
    const { faults, index } = request.isWithoutIndex
      ? notCompared(NOT_ASKED_FOR)
      : await indexFaults(checked.tenants, comparedIndex(state, SealedRows.toVerify(ring)), onProgress);
    const report = { ...checked, faults: [...checked.faults, ...faults], index };
    return { ...report, verified: report.faults.length === 0, keysFrom, totals: totalsOf(report) };
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    throw new StartError(`the connection to the database was lost: ${why}`, { cause: error });
  }
}

async function checkWithin(
  directory: string,
  request: StoreCheckRequest,
  keys: readonly TrustedKey[],
): Promise<CheckedStore> {
  const place = request.anchor ?? directory;
  const before = await readingOf(place);
  using views = openComparedViews(directory);
  using journal = openUnwritten(directory);
  using ring = await ringToVerify(directory, request, () => hasKeys(journal.db));
  try {
    return await checkOpened(journal.db, { request, keys, place, before, views, ring });
  } finally {
    // Also where a fault was found: it may be none.
    journal.requireUnchanged();
    views.requireUnchanged();
  }
}

interface Checking {
  readonly request: StoreCheckRequest;
  readonly keys: readonly TrustedKey[];
  readonly place: string;
  /** The anchor as it was before the data was opened. */
  readonly before: Reading;
  readonly views: ComparedViews;
  readonly ring: Keyring | undefined;
}

async function checkOpened(db: DatabaseSync, checking: Checking): Promise<CheckedStore> {
  const { request, keys, place, before, views, ring } = checking;
  db.exec('BEGIN');
  // From here on one state is seen; what is anchored by now is no smaller.
  const found = db.prepare('SELECT 1 FROM tenants WHERE tenant_id = ?').get(request.tenant ?? '');
  requireTenant(found !== undefined, request.tenant);
  const behind = await readingOf(place);
  const seen = request.seen.map((note) => seenHead(note, keys));
  const steps = checkJournal(db, {
    keys,
    remembered: { anchor: readingsOf(before, behind), seen },
    ...PAST,
    tenant: request.tenant,
    ring,
  });
  const report = await runInLots(steps, request);
  const { faults, index } = await comparedViews(db, report, views, checking);
  return { ...report, faults: [...report.faults, ...faults], index };
}

async function runInLots<T>(
  steps: Generator<FsckProgress, T>,
  { onProgress, signal }: StoreCheckRequest,
): Promise<T> {
  for (let lots = 1; ; lots++) {
    const step = steps.next();
    if (step.done === true) return step.value;
    onProgress?.(step.value);
    if (lots % LOTS_AT_ONCE === 0) await wait(systemClock, 0, signal);
    signal?.throwIfAborted();
  }
}

/** Undefined where nothing was ever sealed. Throws StartError: what nobody can look into is not verified. */
async function ringToVerify(
  directory: string | undefined,
  { keyring = plainKeyring(directory ?? '.') }: StoreCheckRequest,
  hasKeys: () => Awaitable<boolean>,
): Promise<Keyring | undefined> {
  if (!(await hasKeys())) return undefined;
  const found = await readKeyring(keyring);
  if (found !== undefined) return new Keyring(found.ring);
  throw new StartError(
    `there is sealed content, and no keyring ${keyring.path} that opens it: name the keyring by --keyring or Encryption__Keyring`,
  );
}

const NOT_ASKED_FOR = 'it was not asked for';

function notCompared(whyNot: string): Awaited<ReturnType<typeof indexFaults>> {
  return { faults: [], index: { events: 0, eventsLeftOut: 0, whyNot } };
}

async function comparedViews(
  db: DatabaseSync,
  { tenants }: FsckReport,
  views: ComparedViews,
  { request, ring }: Pick<Checking, 'request' | 'ring'>,
): ReturnType<typeof indexFaults> {
  const { isWithoutIndex, onProgress, signal } = request;
  const logOrigin = readInstallation(db)?.logOrigin;
  if (isWithoutIndex) return notCompared(NOT_ASKED_FOR);
  if (views.whyNot !== undefined) return notCompared(views.whyNot);
  if (logOrigin === undefined) return notCompared('the log has no name');
  try {
    return await indexFaults(
      tenants,
      views.over(db, logOrigin, SealedRows.toVerify(ring)),
      async (progress) => {
        onProgress?.(progress);
        await wait(systemClock, 0, signal);
        signal?.throwIfAborted();
      },
    );
  } catch (error) {
    // The log has been read as a whole by now: this is the other file.
    if (isDamage(error)) return notCompared(unreadable(error));
    throw error;
  }
}

function requireTenant(isThere: boolean, tenant: string | undefined): void {
  if (tenant !== undefined && !isThere) throw new StartError(`there is no tenant ${tenant}`);
}

const PAST = {
  newDecisions: () => ({ past: new PastDecisions(), periods: new PastPeriods() }),
  newHolds: () => new PastHolds(),
};

type Reading = AnchorSnapshots['history'] | EvidenceError;

async function readingOf(place: string): Promise<Reading> {
  try {
    return await readAnchorHistoryAt(place);
  } catch (error) {
    if (error instanceof EvidenceError) return error;
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function readingsOf(before: Reading, behind: Reading): AnchorSnapshots | EvidenceError | undefined {
  if (behind === undefined || behind instanceof EvidenceError) return behind;
  // The service may have made it meanwhile.
  if (before instanceof EvidenceError) return before;
  return { before: newestIn(before ?? new Map()), behind: newestIn(behind), history: behind };
}

/** Those beside the data, which tell that it is one service's own, and those that were handed in, which tell whose. */
async function trustedKeys(directory: string | undefined, given: readonly string[]): Promise<TrustedKey[]> {
  const keys: TrustedKey[] = given.map((key) => ({
    publicKey: parseVerifierKey(key).publicKey,
    isGiven: true,
  }));
  if (directory === undefined) return keys;
  try {
    const own = (await loadSigningKeys(directory)) ?? [];
    return [...keys, ...own.map(({ publicKey }) => ({ publicKey, isGiven: false }))];
  } catch (error) {
    if (keys.length > 0 && error instanceof StartError) return keys;
    throw error;
  }
}

/** It is only worth comparing with if the log itself has signed it. */
function seenHead(note: string, keys: readonly TrustedKey[]): AnchoredHead {
  try {
    const { origin } = parseCheckpoint(parseNote(note).text);
    return { origin, ...new NoteReader(origin, keys).read(note, true) };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new StartError(`the checkpoint seen before cannot be used: ${error.message}`, { cause: error });
  }
}

function totalsOf({ tenants }: FsckReport): StoreTotals {
  const logs = tenants.flatMap((tenant) => tenant.logs);
  const sum = (count: Exclude<keyof StoreTotals, 'tenants' | 'streams'>) =>
    logs.reduce((total, log) => total + log[count], 0);
  return {
    tenants: tenants.filter(({ tenant }) => tenant !== INSTALLATION).length,
    entries: sum('entries'),
    values: sum('values'),
    deleted: sum('deleted'),
    unexplained: sum('unexplained'),
    undeleted: sum('undeleted'),
    undecided: sum('undecided'),
    streams: tenants.reduce((total, { streams }) => total + streams, 0),
    tiles: sum('tiles'),
    checkpoints: sum('checkpoints'),
  };
}
