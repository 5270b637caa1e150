// What the command line does to make a bundle out of a data directory or a database, whether the service runs or not. It
// takes no lock and writes nothing there: one read transaction sees one state, and all of the bundle is under the newest checkpoint of
// that state. What is deleted is marked so, with the notices that say why; where there is none, no bundle is made.

import type { StreamId, TenantId } from '@tallystick/contract';
import { EvidenceError, parseNote } from '@tallystick/evidence';
import { verifyingUrl } from '../config/database-urls.ts';
import type { Config } from '../config/settings.ts';
import { verifierKeys } from '../keys/signing-keys.ts';
import { keyringOf } from '../keyring-place.ts';
import { systemClock, wait } from '../runtime/clock.ts';
import { StartError } from '../start-error.ts';
import type { Resumable } from '../storage/resumable.ts';
import type { BundleStore, OpenBundleStore } from '../storage/bundle-store.ts';
import type { LogIdentity } from '../storage/rows/log-identity.ts';
import { loadSigningKeys } from '../storage/keys/signing-key-files.ts';
import { openingOf } from '../storage/sealing/open-keyring.ts';
import { openBundleStore as openJournalStore } from '../storage/sqlite/log/bundle-store.ts';
import { BundleLines, type CoveredRange } from './bundle-lines.ts';
import { requireData } from './open-data.ts';

export interface BundleWish {
  readonly tenant: TenantId;
  /** Sequences, both included and both left open if need be; a stream; or, without either, all of the log. */
  readonly part: { readonly from?: number; readonly to?: number } | { readonly streamId: StreamId };
  /** Context and payload of events by their root alone. */
  readonly withholdContent: boolean;
  /** How long to wait for a checkpoint over all that is wanted; 0 takes the one that is there. */
  readonly waitMs: number;
}

export interface OpenedBundle extends AsyncDisposable {
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
  /** The bundle, some lines at a time. Throws StartError where the data does not give one that verifies. */
  lines(): AsyncGenerator<readonly Uint8Array[]>;
}

const POLL_MS = 50;

/** Throws StartError, and ConfigError where there is no data. */
export async function openBundle(config: Config, wish: BundleWish): Promise<OpenedBundle> {
  requireData(config);
  const { dataDirectory } = config.storage;
  const place = verifyingUrl(config.storage);
  const openSealing = openingOf(keyringOf(config));
  if (place === undefined)
    return openIn(await openJournalStore(dataDirectory, wish.tenant, openSealing), dataDirectory, wish);
  // Loaded here: a command over a data directory does not wait for what speaks to databases.
  const { openBundleStore } = await import('../storage/postgres/log/bundle-store.ts');
  return openIn(await openBundleStore(place, wish.tenant, openSealing), dataDirectory, wish);
}

async function openIn<Log extends LogIdentity<unknown>>(
  opened: OpenBundleStore<Log>,
  dataDirectory: string,
  wish: BundleWish,
): Promise<OpenedBundle> {
  await using opening = new AsyncDisposableStack();
  opening.use(opened);
  if (wish.waitMs > 0) await waitForCheckpoint(opened.now, wish);
  const store = await opened.inOneState();
  const range = await coveredRange(store, wish);
  const { log, checkpoint } = range;
  const keys = verifierKeys((await loadSigningKeys(dataDirectory)) ?? [], log.origin);
  const signedBy = parseNote(checkpoint.note).signatures.map(({ name, keyId }) => `${name}+${keyId}+`);
  const open = opening.move();
  return {
    origin: log.origin,
    size: checkpoint.size,
    from: log.firstIndex + range.from + 1,
    to: log.firstIndex + range.to,
    uncovered: range.uncovered,
    verifierKeys: keys.filter((key) => signedBy.some((signer) => key.startsWith(signer))),
    lines: () => linesOf(new BundleLines(store, range, wish.withholdContent).all(), wish.tenant),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

interface WantedRange<Log> {
  readonly log: Log;
  /** Leaf indexes of the log, the second one outside. */
  readonly from: number;
  readonly to: number;
}

async function waitForCheckpoint<Log extends LogIdentity<unknown>>(
  store: BundleStore<Log>,
  wish: BundleWish,
): Promise<void> {
  const { log, to } = await wantedRange(store, wish);
  for (let waitedMs = 0; ((await store.latest(log))?.size ?? 0) < to; waitedMs += POLL_MS) {
    if (waitedMs >= wish.waitMs) {
      throw new StartError(
        `no checkpoint covers sequence ${log.firstIndex + to} after ${wish.waitMs / 1000} seconds: does the service run?`,
      );
    }
    await wait(systemClock, POLL_MS);
  }
}

/** As much of what is wanted as there is, whether a checkpoint covers it or not. */
async function wantedRange<Log extends LogIdentity<unknown>>(
  store: BundleStore<Log>,
  { tenant, part }: BundleWish,
): Promise<WantedRange<Log>> {
  if ((await store.log()) === undefined) throw new StartError(`there is no tenant ${tenant}`);
  const stream = 'streamId' in part ? await store.stream(part.streamId) : undefined;
  if ('streamId' in part && stream === undefined)
    throw new StartError(`tenant ${tenant} has no stream ${part.streamId}`);
  if (stream?.fault !== undefined)
    throw new StartError(`stream ${stream.streamId} of ${tenant} is not what the log says: ${stream.fault}`);
  const first = 'streamId' in part ? stream!.firstIndex : part.from === undefined ? undefined : part.from - 1;
  const last = 'streamId' in part ? stream!.endIndex : part.to;
  const log = (await store.log(first ?? (last === undefined ? undefined : last - 1)))!;
  const end = await store.endOf(log);
  const [from, to] = [first ?? log.firstIndex, last ?? end];
  if (to > end) throw new StartError(`the log ${log.origin} ends with sequence ${end}; ${to} is behind it`);
  if (from >= to) throw new StartError(`there are no events from sequence ${from + 1} on in ${log.origin}`);
  return { log, from: from - log.firstIndex, to: to - log.firstIndex };
}

async function coveredRange<Log extends LogIdentity<unknown>>(
  store: BundleStore<Log>,
  wish: BundleWish,
): Promise<CoveredRange<Log> & { readonly uncovered: number }> {
  const { log, from, to } = await wantedRange(store, wish);
  const checkpoint = await store.latest(log);
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

/** To wait for each line by itself would cost as much as to make it. */
const PORTION_BYTES = 65_536;

async function* linesOf(
  lines: Resumable<void, Uint8Array>,
  tenant: TenantId,
): AsyncGenerator<readonly Uint8Array[]> {
  let portion: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (let step = lines.next(); step.done !== true; ) {
      if (step.value instanceof Promise) {
        step = lines.next(await step.value);
        continue;
      }
      portion.push(step.value);
      bytes += step.value.length;
      if (bytes >= PORTION_BYTES) {
        yield portion;
        portion = [];
        bytes = 0;
      }
      step = lines.next();
    }
    yield portion;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    const advice = 'tallystick verify <data directory> says more';
    throw new StartError(`the data of ${tenant} gives no bundle: ${error.message}; ${advice}`, {
      cause: error,
    });
  }
}
