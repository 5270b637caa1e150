// Makers of signed notes, checkpoints and cosignatures, from a private key: the 32-byte seed of Ed25519 (RFC 8032). The formats
// are those of note.ts, checkpoint.ts and cosignature.ts, which check what is made here.

import { concat, fromBase64, toBase64, utf8, writeU64 } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { malformed } from '../errors.ts';
import { isCount } from '../tree/tree.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint, requireSameOrigin } from './checkpoint.ts';
import { cosignedMessage, TIME_BYTES } from './cosignature.ts';
import { type Note, NOTE_SIGNATURES_MAX, type NoteSignature, requireNoteText } from './note.ts';
import {
  formatVerifierKey,
  keyIdOf,
  requireKeyName,
  SIGNATURE_TYPES,
  type VerifierKey,
} from './verifier-key.ts';

const SEED_BYTES = 32;

export interface Signer {
  readonly name: string;
  readonly keyId: string;
  /** The text that others give to their verifier. */
  readonly verifierKey: string;
  readonly sign: (text: string) => Promise<Uint8Array>;
}

export interface Cosigner {
  readonly name: string;
  readonly keyId: string;
  readonly verifierKey: string;
  /** Signs the text of a checkpoint; `signatureLine` turns the result into a line for its note. */
  readonly cosign: (checkpointText: string, timeSeconds: number) => Promise<NoteSignature>;
}

export async function noteSigner(name: string, seed: Uint8Array): Promise<Signer> {
  const { publicKey, sign } = await ed25519Key(seed);
  const key: VerifierKey = { name, type: SIGNATURE_TYPES.note, publicKey };
  return {
    name,
    keyId: keyIdOf(key),
    verifierKey: formatVerifierKey(key),
    sign: (text) => sign(utf8(text)),
  };
}

export async function cosigner(name: string, seed: Uint8Array): Promise<Cosigner> {
  const { publicKey, sign } = await ed25519Key(seed);
  const key: VerifierKey = { name, type: SIGNATURE_TYPES.cosignature, publicKey };
  const keyId = keyIdOf(key);
  return {
    name,
    keyId,
    verifierKey: formatVerifierKey(key),
    cosign: async (checkpointText, timeSeconds) => {
      parseCheckpoint(checkpointText);
      const time = encodeTime(timeSeconds);
      const signature = await sign(cosignedMessage(checkpointText, timeSeconds));
      return { name, keyId, signature: concat(time, signature) };
    },
  };
}

export async function signNote(text: string, signers: readonly Signer[]): Promise<string> {
  requireNoteText(text);
  const signatures = await Promise.all(
    signers.map(async ({ name, keyId, sign }) => ({ name, keyId, signature: await sign(text) })),
  );
  return formatNote({ text, signatures });
}

export function formatNote({ text, signatures }: Note): string {
  requireNoteText(text);
  if (signatures.length < 1 || signatures.length > NOTE_SIGNATURES_MAX)
    throw malformed(`note has ${signatures.length} signatures; it has 1 to ${NOTE_SIGNATURES_MAX}`);
  return `${text}\n${signatures.map(signatureLine).join('')}`;
}

export function signatureLine({ name, keyId, signature }: NoteSignature): string {
  requireKeyName(name);
  return `— ${name} ${toBase64(concat(fromHex(keyId), signature))}\n`;
}

export async function signCheckpoint(checkpoint: Checkpoint, signers: readonly Signer[]): Promise<string> {
  for (const { name } of signers) requireSameOrigin('key', name, checkpoint.origin);
  return signNote(formatCheckpoint(checkpoint), signers);
}

export interface Ed25519Key {
  readonly publicKey: Uint8Array;
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
}

/** RFC 8410: PrivateKeyInfo, version 0, algorithm 1.3.101.112, then the seed as an octet string twice over. */
const PKCS8_PREFIX = Uint8Array.of(0x30, 46, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 101, 112, 4, 34, 4, 32);

export async function ed25519Key(seed: Uint8Array): Promise<Ed25519Key> {
  if (seed.length !== SEED_BYTES) throw malformed(`key seed is ${seed.length} bytes, not ${SEED_BYTES}`);
  const { subtle } = globalThis.crypto;
  const pkcs8 = concat(PKCS8_PREFIX, seed);
  // WebCrypto has no way from a private key to its public one but this text form, "x" in base64url.
  const readable = await subtle.exportKey(
    'jwk',
    await subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']),
  );
  const publicKey = fromBase64(`${readable.x!.replaceAll('-', '+').replaceAll('_', '/')}=`);
  const key = await subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
  return {
    publicKey,
    sign: async (message) => new Uint8Array(await subtle.sign('Ed25519', key, message)),
  };
}

function encodeTime(timeSeconds: number): Uint8Array {
  if (!isCount(timeSeconds)) throw malformed(`time of cosignature is ${timeSeconds}`);
  const bytes = new Uint8Array(TIME_BYTES);
  writeU64(bytes, 0, timeSeconds);
  return bytes;
}
