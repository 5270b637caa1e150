// The keys with which this service signs the heads of its logs, all of them under the name of each log. The newest one
// signs, and beside it, after a rotation, the one before until its time is over. None is ever forgotten: a checkpoint
// of long ago was signed by one that has retired.

import { hkdfSync, type KeyObject, sign } from 'node:crypto';
import {
  type Checkpoint,
  formatCheckpoint,
  formatVerifierKey,
  keyIdOf,
  SIGNATURE_TYPES,
  signatureLine,
  type VerifierKey,
} from '@tallystick/evidence';

export interface SigningKey {
  /** Hex SHA-256 of the public key. */
  readonly fingerprint: string;
  readonly privateKey: KeyObject;
  /** The 32 bytes of RFC 8032. */
  readonly publicKey: Uint8Array;
  readonly createdAtMs: number;
  /** There once another key has followed; this one signs before that time and not from it on. */
  readonly signsUntilMs?: number;
}

/** Newest first, and never none. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

/** The keys as they are kept, of which the command line may make a new one while the service runs. */
export interface SigningKeyStore {
  keys(): SigningKeys;
  /** Looks whether there is a new one; cheap if not. Where it throws, the keys stay as they were. */
  reload(): Promise<void>;
}

/** Those that sign now, newest first. */
export function activeKeys([newest, ...older]: SigningKeys, nowMs: number): SigningKeys {
  return [newest, ...older.filter(({ signsUntilMs }) => signsUntilMs !== undefined && nowMs < signsUntilMs)];
}

/** What others verify this log by, newest first: give them those that sign now, or all. */
export function verifierKeys(keys: readonly Pick<SigningKey, 'publicKey'>[], origin: string): string[] {
  return keys.map((key) => formatVerifierKey(verifierKeyOf(key, origin)));
}

/** The head as a checkpoint, signed by every key that signs now; what signCheckpoint of evidence gives, at once. */
export function signCheckpointHead(head: Checkpoint, keys: SigningKeys, nowMs: number): string {
  const text = formatCheckpoint(head);
  return `${text}\n${signatureLines(text, head.origin, activeKeys(keys, nowMs)).join('')}`;
}

/** The signatures of a text by these keys, as a note has them. */
export function signatureLines(text: string, origin: string, keys: SigningKeys): string[] {
  const message = Buffer.from(text);
  return keys.map((key) =>
    signatureLine({
      name: origin,
      keyId: keyIdOf(verifierKeyOf(key, origin)),
      signature: sign(null, message, key.privateKey),
    }),
  );
}

const MAC_KEY_BYTES = 32;

/** The key of the MACs by which records are known to be ours (records/record-macs.ts): made from one that signs. */
export function macKeyOf({ privateKey }: Pick<SigningKey, 'privateKey'>): Uint8Array {
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' });
  return new Uint8Array(hkdfSync('sha256', secret, '', 'tallystick records', MAC_KEY_BYTES));
}

function verifierKeyOf({ publicKey }: Pick<SigningKey, 'publicKey'>, origin: string): VerifierKey {
  return { name: origin, type: SIGNATURE_TYPES.note, publicKey };
}
