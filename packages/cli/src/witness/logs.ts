// Which logs a witness follows, and by which keys. One line each, in the file `logs` of its data directory:
//
//   log <verifier key>                 the log of that name, signed by that key
//   below <prefix> <verifier key>      every log whose name begins with the prefix, all signed by that one key
//
// The second is for a service with a log per tenant and one key for all of them: a key id depends on the name that the
// key goes by, so the verifier key of each tenant is another text, and is made here from the origin and the public key.
// The prefix ends in a slash, so that no name is the beginning of another's, and the key given is that of one of the
// logs below it. Blank lines and those that begin with # say nothing.

import {
  EvidenceError,
  formatVerifierKey,
  noteVerifier,
  parseVerifierKey,
  type Verifier,
  type VerifierKey,
} from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';

export interface Logs {
  /** By name: those that have a line of their own. */
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
  /** The keys that speak for an origin; none for a log that is not followed. */
  verifiersOf(origin: string): Promise<readonly Verifier[]>;
}

export interface LogLine {
  /** Undefined: the one log whose name the key has. */
  readonly prefix: string | undefined;
  readonly key: VerifierKey;
}

/** `where` stands before what is wrong with a line. */
export function parseLogLines(text: string, where: string): LogLine[] {
  return text.split('\n').flatMap((line, i) => {
    const [kind, ...words] = line.split(/[ \t\r]+/).filter((word) => word !== '');
    if (kind === undefined || kind.startsWith('#')) return [];
    const at = `${where}, line ${i + 1}`;
    if (kind === 'log' && words.length === 1) return [logLine(words[0]!, at)];
    if (kind === 'below' && words.length === 2) return [belowLine(words[0]!, words[1]!, at)];
    throw new CannotRun(`${at}: a line is "log <verifier key>" or "below <prefix> <verifier key>"`);
  });
}

export function logLine(verifierKey: string, where: string): LogLine {
  return { prefix: undefined, key: keyIn(verifierKey, where) };
}

export function belowLine(prefix: string, verifierKey: string, where: string): LogLine {
  if (!/.\/$/.test(prefix)) {
    throw new CannotRun(`${where}: the prefix ${JSON.stringify(prefix)} does not end in a slash`);
  }
  const key = keyIn(verifierKey, where);
  if (!isBelow(key.name, prefix)) {
    throw new CannotRun(`${where}: the key is that of ${key.name}, which is not below ${prefix}`);
  }
  return { prefix, key };
}

export function logsOf(lines: readonly LogLine[]): Logs {
  return {
    names: [...new Set(lines.filter(({ prefix }) => prefix === undefined).map(({ key }) => key.name))],
    prefixes: [...new Set(lines.flatMap(({ prefix }) => prefix ?? []))],
    async verifiersOf(origin) {
      const keys = lines
        .filter(({ prefix, key }) => (prefix === undefined ? key.name === origin : isBelow(origin, prefix)))
        .flatMap(({ key }) => verifierKeyAs(origin, key));
      const verifiers = await Promise.all([...new Set(keys)].map(noteVerifier));
      // By key id, because two keys that signatures cannot tell apart would make every note unreadable.
      return [...new Map(verifiers.map((verifier) => [verifier.keyId, verifier])).values()];
    },
  };
}

function isBelow(origin: string, prefix: string): boolean {
  return origin.startsWith(prefix) && origin.length > prefix.length;
}

/** None, where the origin cannot be the name of a key. */
function verifierKeyAs(name: string, { type, publicKey }: VerifierKey): string[] {
  try {
    return [formatVerifierKey({ name, type, publicKey })];
  } catch (error) {
    if (error instanceof EvidenceError) return [];
    throw error;
  }
}

function keyIn(text: string, where: string): VerifierKey {
  const why = (reason: string) =>
    new CannotRun(`${where}: ${JSON.stringify(text.slice(0, 120))} is no usable key: ${reason}`);
  try {
    const key = parseVerifierKey(text);
    if (key.type !== 0x01) throw why(`it is of type ${key.type}, and logs sign with type 1`);
    return key;
  } catch (error) {
    throw error instanceof EvidenceError ? why(error.message) : error;
  }
}
