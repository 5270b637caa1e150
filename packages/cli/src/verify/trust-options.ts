// Whom and what `tallystick verify` is told to trust: keys, witnesses, an older checkpoint, the filter asked for.

import { existsSync } from 'node:fs';
import {
  cosignatureVerifier,
  fromBase64,
  noteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseJson,
  parseNote,
  parseVerifierKey,
  toBase64,
  type Trust,
  type VerifierKey,
  type WitnessPolicy,
} from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { printable } from '../output/printable.ts';
import { readText, textIn } from '../read-text.ts';

/** So much of what is no key is shown. */
const KEY_SHOWN_MAX = 120;

export interface TrustOptions {
  readonly key?: string[];
  readonly since?: string;
  readonly consistency?: string;
  readonly witness?: string[];
  readonly witnessesMin?: string;
  readonly policy?: string;
  readonly nothingWithheld?: true;
  readonly filter?: string;
}

/** `policy` is what `--policy` names. */
export async function trustOf(options: TrustOptions, policy: WitnessPolicy | undefined): Promise<Trust> {
  const { witness: witnessKeys = [] } = options;
  const keys = (options.key ?? []).flatMap(keysIn);
  requireDifferent('--key', keys);
  if (options.witnessesMin !== undefined && witnessKeys.length === 0) {
    throw new CannotRun('--witnesses-min is given and no --witness');
  }
  if (policy !== undefined && witnessKeys.length > 0)
    throw new CannotRun('--policy and --witness are both given');
  const given = await Promise.all(keys.map((key) => verifierOf(key, noteVerifier)));
  const verifiers = given.length > 0 ? given : (policy?.logs ?? []).map(({ verifier }) => verifier);
  if (verifiers.length === 0) {
    throw new CannotRun("--key is missing: without the log's public key nothing can be verified");
  }
  if (given.length === 0 && new Set(verifiers.map(({ name }) => name)).size > 1) {
    throw new CannotRun('--key is missing: the policy has several logs');
  }
  const trust: Trust = { verifiers };
  if (options.nothingWithheld) trust.allowWithheld = false;
  if (options.filter !== undefined) trust.filter = jsonOf(options.filter, '--filter');
  if (witnessKeys.length > 0) {
    requireDifferentWitnesses(witnessKeys);
    const witnesses = await Promise.all(
      witnessKeys.map((key) => verifierOf(witnessKeyIn(key), cosignatureVerifier)),
    );
    trust.witnesses = { verifiers: witnesses, countMin: countOf(options.witnessesMin, witnesses.length) };
  }
  // Their cosignatures are verified with the rest; whether they are enough is looked at when there is a verdict.
  if (policy !== undefined) {
    trust.witnesses = { verifiers: policy.witnesses.map(({ verifier }) => verifier), countMin: 0 };
  }
  if (options.since !== undefined) trust.since = await checkpointIn(options.since, verifiers);
  if (options.consistency !== undefined) trust.consistency = hashesIn(options.consistency);
  return trust;
}

function requireDifferent(option: string, values: readonly string[]): void {
  if (new Set(values).size < values.length)
    throw new CannotRun(`${option} is given twice with the same value`);
}

/** Under two names or with two keys, one witness would count for two. */
function requireDifferentWitnesses(textsOrFiles: readonly string[]): void {
  const keys = textsOrFiles.map((textOrFile) => parsedKey(witnessKeyIn(textOrFile)));
  requireDifferent(
    '--witness',
    keys.map(({ name }) => name),
  );
  requireDifferent(
    '--witness',
    keys.map(({ publicKey }) => toBase64(publicKey)),
  );
}

/** Throws CannotRun for what is none. */
export function parsedKey(text: string): VerifierKey {
  try {
    return parseVerifierKey(text);
  } catch (error) {
    throw noKey(text, error);
  }
}

/** A file may hold several, a line each, as what the service shows does while a key is rotated. */
export function keysIn(textOrFile: string): string[] {
  if (isKeyText(textOrFile)) return [textOrFile.trim()];
  const lines = keyFileText(textOrFile, '--key').trimEnd().split('\n');
  const keys = lines.map((line) => line.trim());
  const wrong = keys.findIndex((key) => key !== '' && !isKeyText(key));
  if (wrong >= 0 || keys.every((key) => key === '')) {
    const shown = JSON.stringify(keys[Math.max(wrong, 0)]!.slice(0, KEY_SHOWN_MAX));
    throw new CannotRun(
      `${textOrFile}, line ${Math.max(wrong, 0) + 1}, is no usable key: ${shown}. A key is one line, <name>+<id>+<base64>`,
    );
  }
  return keys.filter((key) => key !== '');
}

function witnessKeyIn(textOrFile: string): string {
  return isKeyText(textOrFile) ? textOrFile.trim() : keyFileText(textOrFile, '--witness').trim();
}

function isKeyText(text: string): boolean {
  return /^[^\s+]+\+[0-9a-f]{8}\+/.test(text);
}

/** For a wrong file the error names the file, and does not show its bytes. */
function keyFileText(file: string, option: string): string {
  if (!existsSync(file)) {
    const given = JSON.stringify(file.slice(0, KEY_SHOWN_MAX));
    throw new CannotRun(
      `${option} is ${given}, which is neither a key (<name>+<id>+<base64>) nor a file that is there`,
    );
  }
  const text = textIn(file);
  const plain = text?.replaceAll(/[\t\r\n]/g, '');
  if (text === undefined || plain === undefined || printable(plain) !== plain)
    throw new CannotRun(`${file} is no text, so it holds no key`);
  return text;
}

function noKey(text: string, error: unknown): CannotRun {
  return new CannotRun(
    `${JSON.stringify(text.slice(0, KEY_SHOWN_MAX))} is no usable key: ${messageOf(error)}`,
  );
}

async function verifierOf<V>(text: string, makeVerifier: (key: string) => Promise<V>): Promise<V> {
  try {
    return await makeVerifier(text);
  } catch (error) {
    throw noKey(text, error);
  }
}

function countOf(text: string | undefined, countMax: number): number {
  if (text === undefined) return countMax;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= countMax) return count;
  throw new CannotRun(`--witnesses-min is ${text}; it is 1 to ${countMax}, the number of --witness keys`);
}

function jsonOf(text: string, what: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new CannotRun(`${what} is not JSON`);
  }
}

/** A consistency proof as the service answers it: `{ "hashes": [base64, …] }`. */
function hashesIn(file: string): Uint8Array[] {
  const proof = jsonOf(readText(file), file) as { hashes?: unknown } | null;
  const hashes: unknown = proof?.hashes;
  if (Array.isArray(hashes) && hashes.every((hash) => typeof hash === 'string' && isHash(hash))) {
    return hashes.map(fromBase64);
  }
  throw new CannotRun(`${file} is no consistency proof: it has no list of hashes`);
}

function isHash(text: string): boolean {
  return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text);
}

/** The older checkpoint is only worth comparing with if the log itself has signed it. */
async function checkpointIn(
  file: string,
  verifiers: Trust['verifiers'],
): Promise<NonNullable<Trust['since']>> {
  const note = readText(file);
  try {
    return await openCheckpoint(note, { origin: parseCheckpoint(parseNote(note).text).origin, verifiers });
  } catch (error) {
    throw new CannotRun(`${file} is no checkpoint signed by that key: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
