// The file of the keyring, and its provider. The file has the secrets of each key (key-tree.ts) as bytes: with the provider File in
// the clear, so that the file is the secret; with another one sealed by a key of that provider, which must open them at
// each start. It is for its owner only, appears completely or not at all, and is never in a backup of the events.
//
//   { "format": "tallystick-keyring/1", "provider": "File" | …, "keys": [ { "id", "createdAt", "secrets": base64 } ] }
//   secrets = for each node: u8 bits in its path ‖ the path, 16 bytes ‖ its secret, 32 bytes; sealed as a whole by other providers

import { readFileSync, statSync } from 'node:fs';
import { fromBase64, parseJson, toBase64 } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import { addFile, replaceFile } from '../files/whole-file.ts';
import { type KeyTree, wholeTree } from './key-tree.ts';
import { KEY_BYTES, RING_ID_BYTES, type RingData, type RingKey } from './keyring.ts';

/** Seals the secrets of the keyring; asked at the start, and when a key is added or a part of one destroyed. */
export interface KeyringProvider {
  readonly name: 'File' | 'AwsKms' | 'Vault';
  /** `keyId` is authenticated with them. */
  seal(secrets: Uint8Array, keyId: string): Promise<Uint8Array>;
  open(sealed: Uint8Array, keyId: string): Promise<Uint8Array>;
}

export const FILE_PROVIDER: KeyringProvider = {
  name: 'File',
  seal: async (secrets) => secrets,
  open: async (sealed) => sealed,
};

const FORMAT = 'tallystick-keyring/1';
const PATH_BYTES = 16;
const NODE_BYTES = 1 + PATH_BYTES + KEY_BYTES;

interface StoredRing {
  readonly format: string;
  readonly provider: string;
  readonly keys: readonly { readonly id: string; readonly createdAt: string; readonly secrets: string }[];
}

/** Undefined where there is none. Throws StartError for one that cannot be used. */
export async function readKeyring(path: string, provider: KeyringProvider): Promise<RingData | undefined> {
  const text = textOr(path, () => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  requirePrivate(path);
  const stored = storedIn(path, text);
  if (stored.provider !== provider.name)
    throw new StartError(
      `the keyring ${path} is sealed by ${stored.provider}, and Encryption__Provider is ${provider.name}`,
    );
  const keys: RingKey[] = [];
  for (const { id, createdAt, secrets } of stored.keys) {
    try {
      const tree = treeIn(await provider.open(fromBase64(secrets), id));
      keys.push({ id, createdAtMs: Date.parse(createdAt), tree });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new StartError(`the key ${id} of the keyring ${path} cannot be opened: ${why}`, { cause });
    }
  }
  if (keys.length === 0) throw new StartError(`the keyring ${path} has no key`);
  return { place: path, keys };
}

/** The keyring at this place, with a first key if there was none; of two processes that make one at once, the first one's. */
export async function makeKeyring(
  path: string,
  provider: KeyringProvider,
  parts: { readonly random: Random; readonly nowMs: number },
): Promise<RingData> {
  const made = { place: path, keys: [newRingKey(parts)] };
  try {
    if (await addFile(path, await written(made, provider))) return made;
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError(`cannot write the keyring ${path}: ${String(cause)}`, { cause });
  }
  return (await readKeyring(path, provider))!;
}

/** Takes the place of what is there. */
export async function replaceKeyring(ring: RingData, provider: KeyringProvider): Promise<void> {
  await replaceFile(ring.place, await written(ring, provider));
}

export function newRingKey({ random, nowMs }: { readonly random: Random; readonly nowMs: number }): RingKey {
  const id = Buffer.from(random.bytes(RING_ID_BYTES)).toString('hex');
  return { id, createdAtMs: nowMs, tree: wholeTree(random.bytes(KEY_BYTES)) };
}

/** Changes with each replacement; undefined where there is no file. */
export function versionOfKeyring(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.ino} ${found.mtimeMs} ${found.size}`;
}

async function written({ keys }: RingData, provider: KeyringProvider): Promise<string> {
  const stored: StoredRing = {
    format: FORMAT,
    provider: provider.name,
    keys: await Promise.all(
      keys.map(async ({ id, createdAtMs, tree }) => ({
        id,
        createdAt: instant(createdAtMs),
        secrets: toBase64(await provider.seal(bytesOf(tree), id)),
      })),
    ),
  };
  return `${JSON.stringify(stored, null, 2)}\n`;
}

function storedIn(path: string, text: string): StoredRing {
  const isRing = (value: unknown): value is StoredRing => {
    const { format, provider, keys } = (value ?? {}) as Partial<StoredRing>;
    return (
      format === FORMAT &&
      typeof provider === 'string' &&
      Array.isArray(keys) &&
      keys.every(
        ({ id, createdAt, secrets }) =>
          /^[0-9a-f]{16}$/.test(id) && typeof secrets === 'string' && !Number.isNaN(Date.parse(createdAt)),
      )
    );
  };
  try {
    const value = parseJson(text);
    if (isRing(value)) return value;
  } catch {
    // Said below.
  }
  throw new StartError(`${path} is not a keyring`);
}

function requirePrivate(path: string): void {
  const { mode } = statSync(path);
  if ((mode & 0o077) === 0) return;
  throw new StartError(
    `the keyring ${path} can be read by others (mode ${(mode & 0o777).toString(8)}): make it 0600`,
  );
}

function textOr(path: string, read: () => string): string | undefined {
  try {
    return read();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    if (code === 'ENOENT') return undefined;
    throw new StartError(`cannot read the keyring ${path} (${code})`, { cause });
  }
}

function bytesOf(tree: KeyTree): Uint8Array {
  const bytes = new Uint8Array(tree.size * NODE_BYTES);
  let at = 0;
  for (const [path, secret] of tree) {
    bytes[at] = path.length;
    for (let bit = 0; bit < path.length; bit++)
      if (path[bit] === '1') bytes[at + 1 + (bit >> 3)]! |= 0x80 >> (bit & 7);
    bytes.set(secret, at + 1 + PATH_BYTES);
    at += NODE_BYTES;
  }
  return bytes;
}

function treeIn(bytes: Uint8Array): KeyTree {
  if (bytes.length % NODE_BYTES !== 0) throw new Error('its secrets are not whole');
  const tree = new Map<string, Uint8Array>();
  for (let at = 0; at < bytes.length; at += NODE_BYTES) {
    const bits = Array.from(bytes.subarray(at + 1, at + 1 + PATH_BYTES), (byte) =>
      byte.toString(2).padStart(8, '0'),
    ).join('');
    tree.set(bits.slice(0, bytes[at]), bytes.slice(at + 1 + PATH_BYTES, at + NODE_BYTES));
  }
  return tree;
}
