// The keys that sign checkpoints, in the folder `signing-keys` of the data directory, for its owner only. The n-th key
// is two files: `000n.pem` (PKCS #8, Ed25519) and `000n.json`, its record, without which it does not count. A rotation
// is announced before it counts: until then `000n.plan` says until when both keys will sign. Files are added complete
// and never changed or replaced, the record last: an interrupted rotation is complete or has no effect, of two
// concurrent ones one succeeds, and the next one resumes an interrupted one: with its plan, or, if the overlap ends
// before both keys have signed, with a following plan (`000n.plan-2`, …).

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SigningKey, SigningKeys, SigningKeyStore } from '../../keys/signing-keys.ts';
import { StartError } from '../../start-error.ts';
import {
  formatKeyRecord,
  formatRotationPlan,
  type KeyRecord,
  parseKeyRecord,
  parseRotationPlan,
  type RotationPlan,
} from './signing-key-record.ts';
import { addFile, codeOf, syncFolder } from '../files/whole-file.ts';

export const SIGNING_KEYS_FOLDER = 'signing-keys';
const FILE_NAME = /^(\d{4,})\.(pem|json)$/;
/** The last bytes of the SubjectPublicKeyInfo of an Ed25519 key are the key (RFC 8410). */
const PUBLIC_KEY_BYTES = 32;
const GROUP_AND_OTHERS = 0o077;

/** Creates the first key if there is none; throws StartError if the existing files cannot be used. */
export async function openSigningKeys(directory: string, nowMs: number): Promise<SigningKeyStore> {
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  let keys = (await loadSigningKeys(directory)) ?? (await makeFirstKey(directory, nowMs));
  // A key that signs must survive a crash, even if the process that added it did not sync it.
  const secure = () => orStartError(folder, () => syncFolder(folder));
  await secure();
  return {
    keys: () => keys,
    async reload() {
      if (!(await isThere(recordPath(folder, keys.length + 1)))) return;
      const found = await loadSigningKeys(directory);
      const known = found?.slice(-keys.length);
      if (
        found === undefined ||
        !keys.every(({ fingerprint }, i) => known?.[i]?.fingerprint === fingerprint)
      ) {
        throw new StartError(`the signing keys in ${folder} were exchanged; put the previous ones back`);
      }
      await secure();
      keys = found;
    },
  };
}

/**
 * Throws StartError if there is none: for logs that were signed before, a new key would sign under the same name, and
 * holders of the old key could not verify anything any more.
 */
export async function requireSigningKeys(directory: string): Promise<void> {
  if ((await loadSigningKeys(directory)) !== undefined) return;
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  throw new StartError(
    `${folder} has no key, and logs were signed before: put back the keys that signed them`,
  );
}

/** Throws StartError if the store is signed with another key. */
export async function requireSigner(
  store: { settleSigner(fingerprint: string): Promise<string> },
  keys: SigningKeys,
  directory: string,
): Promise<void> {
  const settled = await store.settleSigner(keys.at(-1)!.fingerprint);
  if (keys.some(({ fingerprint }) => fingerprint === settled)) return;
  throw new StartError(
    `the log is signed with another key than those in ${join(directory, SIGNING_KEYS_FOLDER)}: name the data directory of the service that has signed there by Storage__DataDirectory, or put its keys and its anchor there`,
  );
}

/** Undefined if there is none; throws StartError if the existing files cannot be used. */
export async function loadSigningKeys(directory: string): Promise<SigningKeys | undefined> {
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  return orStartError(folder, async () => {
    if (!(await isThere(folder))) return undefined;
    await requireOwnerOnly(folder, 700);
    const count = await countKeys(folder);
    const keys: SigningKey[] = [];
    let signsUntilMs: number | undefined;
    for (let n = count; n > 0; n--) {
      const record = await readRecord(folder, n);
      const key = await readKey(folder, n);
      if (key.fingerprint !== record.fingerprint) {
        throw new StartError(
          `${keyPath(folder, n)} is not the key of its record; put back the one with the fingerprint ${record.fingerprint}`,
        );
      }
      keys.push({
        ...key,
        createdAtMs: record.createdAtMs,
        ...(signsUntilMs === undefined ? {} : { signsUntilMs }),
      });
      signsUntilMs = record.previousSignsUntilMs;
    }
    const [newest, ...older] = keys;
    return newest === undefined ? undefined : [newest, ...older];
  });
}

export interface RotationOptions {
  readonly overlapMs: number;
  readonly nowMs: number;
  readonly nextId: () => string;
}

/** The next key, and the facts that are announced before it signs. */
export interface PlannedRotation {
  readonly previous: SigningKey;
  readonly next: Pick<SigningKey, 'fingerprint' | 'publicKey'>;
  /** The end of the overlap: that of an interrupted earlier attempt, unless it is over. */
  readonly overlapEndsAtMs: number;
  /** The id of the notices, the same for all attempts with this plan. */
  readonly noticeId: string;
  /** When it was planned, possibly by an earlier attempt. */
  readonly plannedAtMs: number;
}

/**
 * Adds a key that signs as soon as `announce` has resolved; the previous one signs too until the overlap ends. If
 * `announce` rejects, only the plan is written, and the next attempt continues with it. Refused with StartError during
 * an overlap. A running service adopts the key at its next `reload`.
 */
export async function rotateSigningKey(
  directory: string,
  options: RotationOptions,
  announce: (planned: PlannedRotation) => Promise<void>,
): Promise<SigningKeys> {
  const { overlapMs, nowMs } = options;
  if (!Number.isSafeInteger(overlapMs) || overlapMs < 0)
    throw new StartError(`the overlap is ${overlapMs} ms; it must be 0 or more`);
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  const keys = await loadSigningKeys(directory);
  if (keys === undefined)
    throw new StartError(`there is no signing key in ${folder}; start the service once`);
  const until = keys[1]?.signsUntilMs;
  if (until !== undefined && nowMs < until) {
    throw new StartError(
      `the signing key was changed, and the one before signs until ${new Date(until).toISOString()}; change it again after that`,
    );
  }
  const n = keys.length + 1;
  const { next, plan, following } = await orStartError(folder, () => planned(folder, n, options));
  const { previousSignsUntilMs, noticeId, plannedAtMs } = plan;
  const overlapEndsAtMs = previousSignsUntilMs;
  await announce({ previous: keys[0], next, overlapEndsAtMs, noticeId, plannedAtMs });
  const record = { fingerprint: next.fingerprint, createdAtMs: nowMs, previousSignsUntilMs };
  const isAdded = await orStartError(
    folder,
    // A newer plan means that another process has found this one expired.
    async () => !(await isThere(following)) && addFile(recordPath(folder, n), formatKeyRecord(record)),
  );
  if (!isAdded) throw new StartError(`the signing key in ${folder} was just changed by another process`);
  return (await loadSigningKeys(directory))!;
}

/** The rotation that made the newest key count; undefined for the first key, or if the plan is missing. */
export async function lastRotation(directory: string): Promise<PlannedRotation | undefined> {
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  const keys = (await loadSigningKeys(directory)) ?? [];
  const [next, previous] = keys;
  const overlapEndsAtMs = previous?.signsUntilMs;
  if (next === undefined || previous === undefined || overlapEndsAtMs === undefined) return undefined;
  for (let attempt = 1; await isThere(planPath(folder, keys.length, attempt)); attempt++) {
    const plan = parseRotationPlan(await readFile(planPath(folder, keys.length, attempt), 'utf8'));
    if (plan?.fingerprint !== next.fingerprint || plan.previousSignsUntilMs !== overlapEndsAtMs) continue;
    const { noticeId, plannedAtMs } = plan;
    return { previous, next, overlapEndsAtMs, noticeId, plannedAtMs };
  }
  return undefined;
}

/** The n-th key and its plan, which are created if they are missing, and the path of a following plan. */
async function planned(folder: string, n: number, { overlapMs, nowMs, nextId }: RotationOptions) {
  const next = await addKeyFile(folder, n);
  const wanted: RotationPlan = {
    fingerprint: next.fingerprint,
    plannedAtMs: nowMs,
    previousSignsUntilMs: nowMs + overlapMs,
    noticeId: nextId(),
  };
  for (let attempt = 1; ; attempt++) {
    const path = planPath(folder, n, attempt);
    await addFile(path, formatRotationPlan(wanted));
    const plan = parseRotationPlan(await readFile(path, 'utf8'));
    if (plan?.fingerprint !== next.fingerprint) {
      throw new StartError(
        `${path} is not the plan of ${keyPath(folder, n)}; put back the files that were there when the rotation began`,
      );
    }
    // Otherwise the new key would sign alone from the start, and those who trust the old one would miss the change.
    if (plan.previousSignsUntilMs >= nowMs)
      return { next, plan, following: planPath(folder, n, attempt + 1) };
  }
}

async function makeFirstKey(directory: string, nowMs: number): Promise<SigningKeys> {
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  await orStartError(folder, async () => {
    try {
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    await syncFolder(directory);
  });
  await orStartError(folder, async () => {
    const { fingerprint } = await addKeyFile(folder, 1);
    // If another process was first, its key is used.
    await addFile(recordPath(folder, 1), formatKeyRecord({ fingerprint, createdAtMs: nowMs }));
  });
  return (await loadSigningKeys(directory))!;
}

/** The key may not be the new one: another process's may exist, or one that a crash left without its record. */
async function addKeyFile(folder: string, n: number) {
  const { privateKey } = generateKeyPairSync('ed25519');
  await addFile(keyPath(folder, n), privateKey.export({ format: 'pem', type: 'pkcs8' }));
  return readKey(folder, n);
}

/** The number of keys with a record. There may be one more, of an unfinished rotation; none may be missing. */
async function countKeys(folder: string): Promise<number> {
  const found = { pem: new Set<number>(), json: new Set<number>() };
  for (const name of await readdir(folder)) {
    const [, n, ending] = FILE_NAME.exec(name) ?? [];
    if (ending === 'pem' || ending === 'json') found[ending].add(Number(n));
  }
  const [keysMax, count] = [Math.max(0, ...found.pem), Math.max(0, ...found.json)];
  for (let n = 1; n <= Math.max(count, keysMax - 1); n++) {
    const path = !found.json.has(n)
      ? recordPath(folder, n)
      : !found.pem.has(n)
        ? keyPath(folder, n)
        : undefined;
    // A file that was added during the read of the folder may have been missed.
    if (path === undefined || (await isThere(path))) continue;
    throw new StartError(
      `${path} is missing, though there are files that follow it; put it back from a copy of ${folder}`,
    );
  }
  return count;
}

async function readKey(
  folder: string,
  n: number,
): Promise<Pick<SigningKey, 'fingerprint' | 'privateKey' | 'publicKey'>> {
  const path = keyPath(folder, n);
  await requireOwnerOnly(path, 600);
  const privateKey = parseKey(await readFile(path, 'utf8'));
  if (privateKey?.asymmetricKeyType !== 'ed25519') {
    throw new StartError(`${path} is not an Ed25519 private key in PEM; put the original back`);
  }
  const info = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = new Uint8Array(info.subarray(-PUBLIC_KEY_BYTES));
  return { fingerprint: createHash('sha256').update(publicKey).digest('hex'), privateKey, publicKey };
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

async function readRecord(folder: string, n: number): Promise<KeyRecord> {
  const path = recordPath(folder, n);
  const record = parseKeyRecord(await readFile(path, 'utf8'));
  if (record === undefined || (record.previousSignsUntilMs === undefined) !== (n === 1)) {
    throw new StartError(`${path} is not a record of a signing key; put the original back`);
  }
  return record;
}

async function requireOwnerOnly(path: string, mode: 600 | 700): Promise<void> {
  if (((await stat(path)).mode & GROUP_AND_OTHERS) === 0) return;
  throw new StartError(
    `${path} is open to others than its owner, and a key that others can read signs for them; run: chmod ${mode} ${path}`,
  );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function orStartError<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`cannot use the signing keys in ${folder} (${codeOf(error)})`, { cause: error });
  }
}

function keyPath(folder: string, n: number): string {
  return join(folder, `${String(n).padStart(4, '0')}.pem`);
}

function recordPath(folder: string, n: number): string {
  return join(folder, `${String(n).padStart(4, '0')}.json`);
}

function planPath(folder: string, n: number, attempt: number): string {
  return join(folder, `${String(n).padStart(4, '0')}.plan${attempt === 1 ? '' : `-${attempt}`}`);
}
