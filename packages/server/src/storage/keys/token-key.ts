// The key with which this service signs its own tokens: one PEM file (PKCS #8, Ed25519) in the data directory, readable
// by its owner only. It appears completely or not at all, and of two concurrent starts the second uses the key of the
// first. To invalidate every token, delete the file and restart the service.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../start-error.ts';

export const TOKEN_KEY_FILE = 'token-key.pem';

/** Undefined if there is none; throws StartError for a file that is not such a key. */
export async function loadTokenKey(directory: string): Promise<KeyObject | undefined> {
  const path = join(directory, TOKEN_KEY_FILE);
  let pem: string;
  try {
    pem = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(`cannot read ${path} (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
  const key = parseKey(pem);
  if (key?.asymmetricKeyType !== 'ed25519') throw new StartError(`${path} is not an Ed25519 private key`);
  return key;
}

/** `unique` names the temporary file, so that two concurrent calls do not share it. */
export async function loadOrMakeTokenKey(directory: string, unique: string): Promise<KeyObject> {
  const found = await loadTokenKey(directory);
  if (found !== undefined) return found;
  await makeKey(directory, unique);
  return (await loadTokenKey(directory))!;
}

async function makeKey(directory: string, unique: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const path = join(directory, TOKEN_KEY_FILE);
  const draft = `${path}.${unique}`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await file.sync();
    // Unlike a rename, a link never replaces an existing file.
    await link(draft, path);
    await syncFolder(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function syncFolder(directory: string): Promise<void> {
  await using folder = await open(directory, 'r');
  await folder.sync();
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
