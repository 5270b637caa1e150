// Verifies a log that is served, without trust in who serves it: the checkpoint is signed by a key that was given or is
// known from before, it extends the one that was kept here, and the tiles lead to its root; with `--entries`, so does
// every entry. Only then the checkpoint is kept in the place of the one before. A key that the service shows of itself
// is believed once, and only if that was asked for. A log under a new name must go on from the one that was kept.

import {
  type Checkpoint,
  EvidenceError,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  type Trust,
  verifyCosignatures,
} from '@tallystick/evidence';
import { tenantIn } from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { apiKeyIn } from '../fetch-bytes.ts';
import { formersOf, formerSince, isEarlier, keysUnder, verifyFormerLogs } from './former-logs.ts';
import { givenOption } from '../given-option.ts';
import { requireNotEnded, verifyGrowth } from './log-growth.ts';
import { type KeysFrom, type LogVerdict, reportLog } from './log-report.ts';
import { policyIn, requireQuorum } from './policy-option.ts';
import { startProgress } from '../output/progress.ts';
import { orPutAside } from './put-aside.ts';
import { logAddress, servedLog, type ServedLog } from './served-log.ts';
import { readText } from '../read-text.ts';
import { keysIn, parsedKey, type TrustOptions, trustOf } from './trust-options.ts';
import type { Report } from './verify-report.ts';
import {
  defaultStateDirectory,
  keptCheckpoint,
  type SeenCheckpoint,
  type WatchedLog,
  WatchedLogs,
} from './watched-log.ts';
import { verifyWholeLog, type WholeLogVerdict } from './whole-log.ts';

export interface LogOptions extends TrustOptions {
  readonly tenant?: string;
  readonly state?: string;
  readonly entries?: true;
  readonly apiKey?: string;
  readonly pinFirstKey?: true;
  readonly acceptNewEpoch?: true;
  /** Of data directories; refused here. */
  readonly anchor?: string;
  readonly verbose?: true;
  readonly withoutIndex?: true;
}

export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

const OF_LOGS = ['state', 'entries', 'apiKey', 'pinFirstKey', 'acceptNewEpoch'] as const;
const NOT_OF_LOGS = ['nothingWithheld', 'filter', 'anchor', 'verbose', 'withoutIndex'] as const;

/** Throws CannotRun for options that say something about a served log where there is none. */
export function requireNoLogOptions(options: LogOptions): void {
  const given = givenOption(options, OF_LOGS);
  if (given !== undefined) throw new CannotRun(`${given} is for the address of a log`);
}

export async function verifyLogAt(text: string, options: LogOptions): Promise<Report> {
  const policy = await policyIn(options.policy);
  requireOptionsOfLogs(options);
  const tenant = options.tenant === undefined ? undefined : tenantIn(options.tenant);
  const log = servedLog(logAddress(text, tenant), { apiKey: apiKeyIn(options.apiKey) });
  const watched = new WatchedLogs(options.state ?? defaultStateDirectory());
  const isAccepted = options.acceptNewEpoch === true;
  // Before anything is asked: without a key nothing could be verified.
  const known = knownBefore(log.address, options, watched);
  const note = await log.checkpoint();
  const trusted =
    known === undefined ? await firstKeys(log, note, watched) : renamed(known, { note, watched, isAccepted });
  // A checkpoint of a log before this one is compared with what this one says of it.
  const since = await formerSince(options.since, trusted);
  const { since: _, ...others } = options;
  const trusting = { ...(since === undefined ? options : others), key: [...trusted.keys] };
  const trust = await trustOf(trusting, policy);
  const { checkpoint, cosignedBy } = await openTrusted(note, trusted.origin, trust);
  // Before anything is kept: what is not witnessed as was asked for is not verified.
  requireQuorum(cosignedBy, policy);
  const { kept } = trusted;
  const seen = [...(kept === undefined ? [] : [watched.seen(kept)]), ...seenIn(options.since, trust)];
  const { origin } = checkpoint;
  await orPutAside({ watched, origin, note, now: checkpoint, verifiers: trust.verifiers }, async () => {
    await verifyGrowth(log, checkpoint, seen);
    requireNotEnded(checkpoint, kept, watched);
  });
  const formers = [...formersOf(log.address, trusted, watched), ...(since === undefined ? [] : [since])];
  const shown = { log, note, now: checkpoint, watched, trusted, trust };
  const { verdicts: formerLogs, former } = await verifyFormerLogs(shown, formers, isAccepted);
  const entries = options.entries === true ? await verifyEntries(log, checkpoint) : undefined;
  const keptIn = keep(watched, { note, checkpoint, trusted, former, address: log.address });
  const sizes = seen.map(({ size }) => size);
  const verdict: LogVerdict = {
    address: log.address,
    checkpoint,
    cosignedBy,
    extends: sizes.length === 0 ? undefined : Math.max(...sizes),
    keys: trusted.keys,
    keysFrom: trusted.from,
    formerLogs,
    entries,
    keptIn,
  };
  return reportLog(verdict);
}

/** Which keys count for which log, who says so, and what was seen of that log before. */
export interface Trusted {
  readonly origin: string;
  readonly keys: readonly string[];
  readonly from: KeysFrom;
  readonly kept: WatchedLog | undefined;
  /** The log has another name than the one that is known, and keys under that name are those of the one before. */
  readonly isRenamed?: true;
}

function requireOptionsOfLogs(options: LogOptions): void {
  const given = givenOption(options, NOT_OF_LOGS);
  if (given !== undefined) throw new CannotRun(`${given} is not for the address of a log`);
  if (options.key !== undefined && options.pinFirstKey) {
    throw new CannotRun(
      '--key and --pin-first-key are both given: with the key at hand, no other is believed',
    );
  }
}

function knownBefore(address: string, options: LogOptions, watched: WatchedLogs): Trusted | undefined {
  if (options.key !== undefined) return givenKeys(options.key, watched);
  const kept = watched.at(address);
  if (kept !== undefined) return { origin: kept.origin, keys: kept.keys, from: 'Kept', kept };
  if (options.pinFirstKey) return undefined;
  throw new CannotRun(
    "--key is missing, and no key is known for this address from before. Get the log's public key from somebody you trust; --pin-first-key believes the one that the service itself shows, this once, and holds it to that from then on",
  );
}

function givenKeys(textsOrFiles: readonly string[], watched: WatchedLogs): Trusted {
  const keys = textsOrFiles.flatMap(keysIn);
  const origins = new Set(keys.map(nameOf));
  const [origin = ''] = origins;
  if (origins.size > 1) throw new CannotRun('the keys are of different logs; give those of one');
  return { origin, keys, from: 'Given', kept: watched.of(origin) };
}

function nameOf(key: string): string {
  return parsedKey(key).name;
}

/** The service's own word for whose log this is. A log that is known by another address keeps its keys. */
async function firstKeys(log: ServedLog, note: string, watched: WatchedLogs): Promise<Trusted> {
  const { origin } = parseCheckpoint(parseNote(note).text);
  const kept = watched.of(origin);
  if (kept !== undefined && kept.keys.length > 0) return { origin, keys: kept.keys, from: 'Kept', kept };
  // Who goes on from a log that is known has its key; anybody could show another one under the new name.
  const before = kept === undefined ? watched.before(origin) : undefined;
  if (before !== undefined && before.keys.length > 0) {
    return { origin, keys: keysUnder(origin, before.keys), from: 'Kept', kept };
  }
  const keys = await log.keys();
  // Said to be keys by a stranger: anything else is nothing to look for in a file.
  if (keys.length === 0 || keys.some((key) => nameOf(key) !== origin)) {
    throw new CannotRun(`${log.address}/key does not show keys of the log of its own checkpoint`);
  }
  return { origin, keys, from: 'FirstUse', kept };
}

/** A log that says by its name that it goes on from the one that is known is held to the key of that one. */
function renamed(
  known: Trusted,
  { note, watched, isAccepted }: { note: string; watched: WatchedLogs; isAccepted: boolean },
): Trusted {
  const { origin } = parseCheckpoint(parseNote(note).text);
  if (known.from !== 'Kept' || known.origin === origin) return known;
  if (!isEarlier(known.origin, origin)) {
    const needed =
      ': --accept-new-epoch alone takes up a log that goes on from that one under a new name, and no other. For this one give its key by --key, too';
    const message = `the log here is ${origin}, and the one that was kept for this address is ${known.origin}`;
    throw new EvidenceError('ORIGIN_MISMATCH', `${message}${isAccepted ? needed : ''}`);
  }
  const keys = keysUnder(origin, known.keys);
  return { origin, keys, from: 'Kept', kept: watched.of(origin), isRenamed: true };
}

async function openTrusted(
  note: string,
  origin: string,
  { verifiers, witnesses }: Trust,
): Promise<{ checkpoint: Checkpoint; cosignedBy: string[] }> {
  const checkpoint = await openCheckpoint(note, { origin, verifiers });
  if (witnesses === undefined) return { checkpoint, cosignedBy: [] };
  const { verifiers: known, countMin: witnessesMin } = witnesses;
  const cosignatures = await verifyCosignatures(note, { witnesses: known, witnessesMin });
  return { checkpoint, cosignedBy: cosignatures.map(({ name }) => name) };
}

/** The checkpoint that was given, if it is of this log. */
function seenIn(file: string | undefined, { since }: Trust): SeenCheckpoint[] {
  return file === undefined || since === undefined ? [] : [{ ...since, note: readText(file), file }];
}

async function verifyEntries(log: ServedLog, checkpoint: Checkpoint): Promise<WholeLogVerdict> {
  using progress = startProgress(`reading ${log.address}`, 'entries', { total: checkpoint.size });
  return await verifyWholeLog(log, checkpoint, (count) => progress.add(count));
}

interface Verified {
  readonly note: string;
  readonly checkpoint: Checkpoint;
  readonly trusted: Trusted;
  readonly former: Checkpoint | undefined;
  readonly address: string;
}

function keep(
  watched: WatchedLogs,
  { note, checkpoint, trusted, former = trusted.kept?.former, address }: Verified,
): string {
  const { origin, keys, kept } = trusted;
  const isNewer = kept === undefined || keptCheckpoint(kept).size < checkpoint.size;
  const addresses = [...new Set([...(kept?.addresses ?? []), address])];
  return watched.keep(kept, {
    origin,
    keys,
    addresses,
    checkpoint: isNewer ? note : kept.checkpoint,
    former,
  });
}
