// The key with which this service signs tokens of its own: one PEM file (PKCS #8, Ed25519) in the data directory,
// readable by its owner only. It appears whole or not at all, and whoever comes second uses the first one's. To make
// every token void, delete the file and start the service anew.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../start-error.ts';

export const TOKEN_KEY_FILE = 'token-key.pem';

/** Undefined when there is none; throws StartError for a file that is no such key. */
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
  if (key?.asymmetricKeyType !== 'ed25519') throw new StartError(`${path} is no Ed25519 private key`);
  return key;
}

/** `unique` names the temporary file, so that two at a time do not write into each other's. */
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
    // Unlike a rename, a link never replaces what is there.
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
