// What the command line does to make a bundle out of a data directory, whether the service runs or not. It takes no lock
// and writes nothing there: one read transaction sees one state, and all of the bundle is under the newest checkpoint of
// that state. What is deleted is marked so, with the notices that say why; where there is none, no bundle is made.

import type { DatabaseSync } from 'node:sqlite';
import type { StreamId, TenantId } from '@tallystick/contract';
import { EvidenceError, parseNote } from '@tallystick/evidence';
import type { Config } from '../config/settings.ts';
import { verifierKeys } from '../keys/signing-keys.ts';
import { systemClock, wait } from '../runtime/clock.ts';
import { StartError } from '../start-error.ts';
import { loadSigningKeys } from '../storage/signing-key-files.ts';
import { openJournalForReading } from '../storage/sqlite/database.ts';
import { LogTables } from '../storage/sqlite/log-tables.ts';
import { readInstallation } from '../storage/sqlite/meta.ts';
import { treeReads } from '../storage/sqlite/tree-reads.ts';
import type { LogPlace } from '../storage/sqlite/tree-tables.ts';
import { BundleLines, type BundleSource, type CoveredRange } from './bundle-lines.ts';
import { requireEmbedded } from './open-data.ts';

export interface BundleWish {
  readonly tenant: TenantId;
  /** Sequences, both included and both left open if need be; a stream; or, without either, all of the log. */
  readonly part: { readonly from?: number; readonly to?: number } | { readonly streamId: StreamId };
  /** Context and payload of events by their root alone. */
  readonly withholdContent: boolean;
  /** How long to wait for a checkpoint over all that is wanted; 0 takes the one that is there. */
  readonly waitMs: number;
}

export interface OpenedBundle extends Disposable {
  readonly origin: string;
  /** Of the checkpoint. */
  readonly size: number;
  /** Sequences, both included. */
  readonly from: number;
  readonly to: number;
  /** How many of the events that are wanted no checkpoint covers yet: they are not in the bundle. */
  readonly uncovered: number;
  /** Of the keys that have signed the checkpoint; none where they do not lie beside the data. */
  readonly verifierKeys: readonly string[];
  /** The bundle, a line at a time. Throws StartError where the data does not give one that verifies. */
  lines(): Generator<Uint8Array>;
}

const POLL_MS = 50;

/** Throws StartError, and ConfigError where there is no data. */
export async function openBundle(config: Config, wish: BundleWish): Promise<OpenedBundle> {
  const { dataDirectory } = config.storage;
  requireEmbedded(config);
  using opening = new DisposableStack();
  const db = opening.use(openJournalForReading(dataDirectory));
  const store = storeIn(db, dataDirectory);
  if (wish.waitMs > 0) await waitForCheckpoint(store, wish);
  db.exec('BEGIN');
  const range = coveredRange(store, wish);
  const { log, checkpoint } = range;
  const keys = verifierKeys((await loadSigningKeys(dataDirectory)) ?? [], log.origin);
  const signedBy = parseNote(checkpoint.note).signatures.map(({ name, keyId }) => `${name}+${keyId}+`);
  const opened = opening.move();
  return {
    origin: log.origin,
    size: checkpoint.size,
    from: log.firstIndex + range.from + 1,
    to: log.firstIndex + range.to,
    uncovered: range.uncovered,
    verifierKeys: keys.filter((key) => signedBy.some((signer) => key.startsWith(signer))),
    lines: () => orStartError(new BundleLines(store, range, wish.withholdContent).all(), wish.tenant),
    [Symbol.dispose]: () => opened.dispose(),
  };
}

interface Store extends BundleSource {
  readonly streams: LogTables;
}

function storeIn(db: DatabaseSync, directory: string): Store {
  const installation = readInstallation(db);
  if (installation === undefined) throw new StartError(`no service was started on ${directory}`);
  const { logOrigin } = installation;
  return { streams: new LogTables(db, logOrigin), ...treeReads(db, logOrigin) };
}

interface WantedRange {
  readonly log: LogPlace;
  /** Leaf indexes of the log, the second one outside. */
  readonly from: number;
  readonly to: number;
}

async function waitForCheckpoint(store: Store, wish: BundleWish): Promise<void> {
  const { log, to } = wantedRange(store, wish);
  for (let waitedMs = 0; (store.trees.latest(log)?.size ?? 0) < to; waitedMs += POLL_MS) {
    if (waitedMs >= wish.waitMs) {
      throw new StartError(
        `no checkpoint covers sequence ${log.firstIndex + to} after ${wish.waitMs / 1000} seconds: does the service run?`,
      );
    }
    await wait(systemClock, POLL_MS);
  }
}

/** As much of what is wanted as there is, whether a checkpoint covers it or not. */
function wantedRange({ db, trees, streams }: Store, { tenant, part }: BundleWish): WantedRange {
  if (trees.log(tenant) === undefined) throw new StartError(`there is no tenant ${tenant}`);
  const stream = 'streamId' in part ? streams.stream(tenant, part.streamId) : undefined;
  if ('streamId' in part && stream === undefined)
    throw new StartError(`tenant ${tenant} has no stream ${part.streamId}`);
  if (stream?.fault !== undefined)
    throw new StartError(`stream ${stream.streamId} of ${tenant} is not what the log says: ${stream.fault}`);
  const first = 'streamId' in part ? stream!.firstIndex : part.from === undefined ? undefined : part.from - 1;
  const last = 'streamId' in part ? stream!.endIndex : part.to;
  const log = trees.log(tenant, first ?? (last === undefined ? undefined : last - 1))!;
  const end = endOf(db, log);
  const [from, to] = [first ?? log.firstIndex, last ?? end];
  if (to > end) throw new StartError(`the log ${log.origin} ends with sequence ${end}; ${to} is behind it`);
  if (from >= to) throw new StartError(`there are no events from sequence ${from + 1} on in ${log.origin}`);
  return { log, from: from - log.firstIndex, to: to - log.firstIndex };
}

/** The first index of the tenant's sequence behind this log. */
function endOf(db: DatabaseSync, { tenant, epoch }: LogPlace): number {
  const row = db
    .prepare(
      `SELECT coalesce((SELECT min(first_index) FROM epochs WHERE tenant = ?1 AND epoch > ?2),
         (SELECT max(leaf_index) + 1 FROM entries WHERE tenant = ?1), 0) AS end`,
    )
    .get(tenant, epoch);
  return Number(row?.['end']);
}

function coveredRange(store: Store, wish: BundleWish): CoveredRange & { readonly uncovered: number } {
  const wanted = wantedRange(store, wish);
  const { log, from, to } = wanted;
  const checkpoint = store.trees.latest(log);
  const size = checkpoint?.size ?? 0;
  const isAsked = !('streamId' in wish.part) && wish.part.to !== undefined;
  if (checkpoint === undefined || size <= from || (isAsked && size < to)) {
    const covered = size === 0 ? 'none yet' : `sequence ${log.firstIndex + 1} to ${log.firstIndex + size}`;
    throw new StartError(
      `no checkpoint covers sequence ${log.firstIndex + to} yet, and without one nothing is proven; covered: ${covered}. --checkpoint-wait waits for the service to sign one`,
    );
  }
  const uncovered = Math.max(0, to - size);
  return { tenant: wish.tenant, log, checkpoint, from, to: Math.min(to, size), uncovered };
}

function* orStartError(lines: Generator<Uint8Array>, tenant: TenantId): Generator<Uint8Array> {
  try {
    yield* lines;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    const advice = 'tallystick verify <data directory> says more';
    throw new StartError(`the data of ${tenant} gives no bundle: ${error.message}; ${advice}`, {
      cause: error,
    });
  }
}
