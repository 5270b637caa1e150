// The key of a witness, and the data directory that belongs to it. The key is one PEM file (PKCS #8, Ed25519), readable
// by its owner only, made at the first start, after the file of heads. So a key without heads is a witness that has
// forgotten what it cosigned, which would cosign a log that was rolled back: it does not start. Neither does one whose
// name or key is not the one that its heads were stored under.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Cosigner, cosigner, EvidenceError } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { syncFolder, writeSynced } from '../durable-file.ts';
import { HEADS_FILE, type Heads, openHeads } from './heads.ts';

const WITNESS_KEY_FILE = 'witness-key.pem';

export interface WitnessData extends Disposable {
  readonly heads: Heads;
  readonly cosigner: Cosigner;
}

const SEED_BYTES = 32;

/** The directory is there. */
export async function openWitnessData(directory: string, name: string): Promise<WitnessData> {
  const keyPath = join(directory, WITNESS_KEY_FILE);
  const hasKey = existsSync(keyPath);
  if (hasKey && !existsSync(join(directory, HEADS_FILE))) {
    throw new CannotRun(
      `${directory} has the key of a witness and not its memory, ${HEADS_FILE}: a witness that has forgotten what it cosigned must not go on. Restore the file as it was last, or start a new witness in an empty directory`,
    );
  }
  const heads = openHeads(directory);
  try {
    if (!hasKey) makeKey(directory, keyPath, heads);
    const witness = await cosignerOf(name, readKey(keyPath));
    const owner = heads.owner();
    if (owner === undefined) heads.setOwner(witness.verifierKey);
    else if (owner !== witness.verifierKey) {
      throw new CannotRun(
        `${directory} is that of the witness ${owner}, and not of ${witness.verifierKey}: one key has one name for good`,
      );
    }
    return { heads, cosigner: witness, [Symbol.dispose]: () => heads[Symbol.dispose]() };
  } catch (error) {
    heads[Symbol.dispose]();
    throw error;
  }
}

function makeKey(directory: string, path: string, heads: Heads): void {
  if (heads.owner() !== undefined) {
    throw new CannotRun(
      `${path} is gone, the key of ${heads.owner()}: restore it, or start in an empty directory`,
    );
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const draft = `${path}.${process.pid}`;
  writeSynced(draft, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
  // Unlike a rename, a link never replaces what is there: of two first starts at once, both use the same key.
  if (!existsSync(path)) linkSync(draft, path);
  rmSync(draft);
  syncFolder(directory);
}

function readKey(path: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(path));
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below: whatever it is, it is no such key.
  }
  throw new CannotRun(`${path} is no Ed25519 private key that can be read`);
}

async function cosignerOf(name: string, key: KeyObject): Promise<Cosigner> {
  // RFC 8410: the seed is the end of the structure.
  const seed = key.export({ format: 'der', type: 'pkcs8' }).subarray(-SEED_BYTES);
  try {
    return await cosigner(name, new Uint8Array(seed));
  } catch (error) {
    if (error instanceof EvidenceError) throw new CannotRun(`--name: ${error.message}`);
    throw error;
  }
}
