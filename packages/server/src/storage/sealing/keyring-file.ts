// The file of the keyring, and its provider. The file has the secrets of each key (key-tree.ts) as bytes: with the provider File in
// the clear, so that the file is the secret; with another one sealed by a key of that provider (remote-provider.ts), which must open
// them at each start. It is for its owner only, appears completely or not at all, and is never in a backup of the events.
//
//   { "format": "tallystick-keyring/1", "provider": "File" | …, "keys": [ { "id", "createdAt", "secrets": base64 } ] }
//   secrets  = for each node: u8 bits in its path ‖ the path, 16 bytes ‖ its secret, 32 bytes; sealed as a whole by other providers
//   bound to = id of the first key of the keyring, own id, own place from 0: what is sealed opens nowhere else

import { readFileSync, statSync } from 'node:fs';
import { fromBase64, parseJson, toBase64 } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import type { BoundTo, RemoteKey } from '../../keys/remote-key.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import { addFile, replaceFile } from '../files/whole-file.ts';
import { type KeyTree, wholeTree } from './key-tree.ts';
import { KEY_BYTES, RING_ID_BYTES, type RingData, type RingKey } from './keyring.ts';

/** Seals the secrets of the keyring; asked at the start, and when a key is added or a part of one destroyed. */
export interface KeyringProvider {
  readonly name: 'File' | RemoteKey['provider'];
  seal(secrets: Uint8Array, boundTo: BoundTo): Promise<Uint8Array>;
  open(sealed: Uint8Array, boundTo: BoundTo): Promise<Uint8Array>;
}

export interface KeyringFile {
  readonly path: string;
  /** Seals a keyring that is new, or is sealed anew. */
  readonly provider: KeyringProvider;
  /** Opens what it has sealed before, and seals it where only a part of the keyring is changed. */
  readonly previous?: KeyringProvider | undefined;
}

export interface ReadKeyring {
  readonly ring: RingData;
  readonly sealedBy: KeyringProvider;
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
export async function readKeyring(file: KeyringFile): Promise<ReadKeyring | undefined> {
  const { path } = file;
  const text = textOr(path, () => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  requirePrivate(path);
  const stored = storedIn(path, text);
  if (stored.keys.length === 0) throw new StartError(`the keyring ${path} has no key`);
  const faults: unknown[] = [];
  for (const sealedBy of providersOf(stored.provider, file)) {
    try {
      return { ring: await openedBy(sealedBy, path, stored), sealedBy };
    } catch (cause) {
      faults.push(cause);
    }
  }
  throw new StartError(
    `${reasonOf(faults[0])}${faults.length > 1 ? `; nor with what sealed it before: ${reasonOf(faults[1])}` : ''}`,
    { cause: faults[0] },
  );
}

/** The keyring at this place, with a first key if there was none; of two processes that make one at once, the first one's. */
export async function makeKeyring(
  file: KeyringFile,
  parts: { readonly random: Random; readonly nowMs: number },
): Promise<RingData> {
  const { path, provider } = file;
  const made = { place: path, keys: [newRingKey(parts)] };
  try {
    if (await addFile(path, await written(made, provider))) return made;
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError(`cannot write the keyring ${path}: ${String(cause)}`, { cause });
  }
  return (await readKeyring(file))!.ring;
}

/** Takes the place of what is there. Throws StartError where the provider does not seal it. */
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

function providersOf(name: string, { path, provider, previous }: KeyringFile): KeyringProvider[] {
  const own = [provider, previous].filter((each) => each !== undefined);
  const able = own.filter((each) => each.name === name);
  if (able.length > 0) return able;
  const settings =
    previous === undefined
      ? `Encryption__Provider is ${provider.name}; to move from one to the other, name ${name} by Encryption__PreviousProvider`
      : `Encryption__Provider is ${provider.name}, Encryption__PreviousProvider ${previous.name}`;
  throw new StartError(`the keyring ${path} is sealed by ${name}, and ${settings}`);
}

async function openedBy(provider: KeyringProvider, path: string, { keys }: StoredRing): Promise<RingData> {
  const bindings = bindingsOf(keys);
  const open = async ({ id, createdAt, secrets }: StoredRing['keys'][number], place: number) => {
    try {
      const tree = treeIn(await provider.open(fromBase64(secrets), bindings[place]!));
      return { id, createdAtMs: Date.parse(createdAt), tree };
    } catch (cause) {
      throw new StartError(`the key ${id} of the keyring ${path} cannot be opened: ${reasonOf(cause)}`, {
        cause,
      });
    }
  };
  return { place: path, keys: await Promise.all(keys.map(open)) };
}

async function written({ place, keys }: RingData, provider: KeyringProvider): Promise<string> {
  const bindings = bindingsOf(keys);
  const sealed = async ({ id, createdAtMs, tree }: RingKey, index: number) => ({
    id,
    createdAt: instant(createdAtMs),
    secrets: toBase64(await provider.seal(bytesOf(tree), bindings[index]!)),
  });
  try {
    const stored = { format: FORMAT, provider: provider.name, keys: await Promise.all(keys.map(sealed)) };
    return `${JSON.stringify(stored satisfies StoredRing, null, 2)}\n`;
  } catch (cause) {
    throw new StartError(`the keyring ${place} cannot be sealed: ${reasonOf(cause)}`, { cause });
  }
}

/** A key that is taken from another keyring, or from its place in this one, does not open. */
function bindingsOf(keys: readonly { readonly id: string }[]): BoundTo[] {
  const keyring = keys[0]!.id;
  return keys.map(({ id }, place) => ({
    'tallystick:keyring': keyring,
    'tallystick:key': id,
    'tallystick:place': String(place),
  }));
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

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
