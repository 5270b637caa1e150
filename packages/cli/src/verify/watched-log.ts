// What `tallystick verify <url>` remembers of the logs that it has verified, in a folder for each:
//
//   <state>/<SHA-256 of the origin, hex>/checkpoint   the newest checkpoint that was verified, as the signed note it was
//                              …/log.json            {"origin":…,"keys":[…],"addresses":[…]}: whose keys count, and where;
//                                                    "former":{"origin":…,"size":…,"root":…}, the end of the log before it
//                              …/refused-checkpoint  one that the log has signed too and that does not fit: keep it
//                              …/refused-proof       where that one is of a new log: what its first entry says of this one
//
// A file is replaced whole or not at all, and only after everything was verified. The checkpoint is written first: a
// folder with `log.json` alone has lost its memory, and is refused rather than begun anew.

import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import {
  type Checkpoint,
  epochIn,
  EvidenceError,
  formatCheckpoint,
  fromBase64,
  parseCheckpoint,
  parseJson,
  parseNote,
  sha256,
  toBase64,
  toHex,
} from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { replaceFile } from '../durable-file.ts';
import { membersOf } from '../members.ts';
import { codeOf, textIfAny } from '../read-text.ts';

export interface WatchedLog {
  readonly origin: string;
  /** Verifier keys; none if only a checkpoint is known. */
  readonly keys: readonly string[];
  /** Where the log was found with these keys. */
  readonly addresses: readonly string[];
  /** A signed note. */
  readonly checkpoint: string;
  /** Where the log before this one has ended, as the first entry of this one says; undefined if that was not read. */
  readonly former?: Checkpoint | undefined;
}

/** A checkpoint that was seen before, and the file that shows it. */
export interface SeenCheckpoint extends Checkpoint {
  /** Signed. */
  readonly note: string;
  readonly file: string;
}

const CHECKPOINT_FILE = 'checkpoint';
const LOG_FILE = 'log.json';
const REFUSED_FILE = 'refused-checkpoint';
const REFUSED_PROOF_FILE = 'refused-proof';

export function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_STATE_HOME'] ?? '';
  return join(isAbsolute(base) ? base : join(homedir(), '.local/state'), 'tallystick');
}

export class WatchedLogs {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  of(origin: string): WatchedLog | undefined {
    return logIn(this.#folderOf(origin));
  }

  /** The log that was verified at this address before. */
  at(address: string): WatchedLog | undefined {
    return this.#allAt(address)[0];
  }

  /** The newest of the logs that the tenant of this one had before it, as their names tell. */
  before(origin: string): WatchedLog | undefined {
    const { first, epoch } = epochIn(origin);
    const epochOf = (log: WatchedLog) => epochIn(log.origin).epoch;
    return this.#all()
      .filter((log) => epochIn(log.origin).first === first && epochOf(log) < epoch)
      .toSorted((a, b) => epochOf(b) - epochOf(a))[0];
  }

  /** Logs that the tenant of this one had after it, as their names tell. */
  after(origin: string): WatchedLog[] {
    const { first, epoch } = epochIn(origin);
    const isAfter = (named: ReturnType<typeof epochIn>) => named.first === first && named.epoch > epoch;
    return this.#all().filter((log) => isAfter(epochIn(log.origin)));
  }

  /** The end of this log as its successor names it, and who that is. */
  endOf(origin: string): { readonly end: Checkpoint; readonly by: string } | undefined {
    // Of other tenants nobody says where this log has ended.
    const ends = this.after(origin).flatMap(({ former, origin: by }) =>
      former?.origin === origin ? [{ end: former, by }] : [],
    );
    return ends.toSorted((a, b) => a.end.size - b.end.size)[0];
  }

  /** What was kept, and where. */
  seen(log: WatchedLog): SeenCheckpoint {
    const file = join(this.#folderOf(log.origin), CHECKPOINT_FILE);
    return { ...keptCheckpoint(log), note: log.checkpoint, file };
  }

  /** Replaces what is remembered, unless somebody else has in the meantime. Gives the file of the checkpoint. */
  keep(before: WatchedLog | undefined, next: WatchedLog): string {
    const folder = this.#folderOf(next.origin);
    const path = join(folder, CHECKPOINT_FILE);
    if (this.of(next.origin)?.checkpoint !== before?.checkpoint) {
      throw new CannotRun(
        `${path} was changed by another run in the meantime, and was left as it is: run it again`,
      );
    }
    if (before?.checkpoint !== next.checkpoint) replaceFile(path, next.checkpoint);
    this.#keepFacts(next);
    for (const address of next.addresses) this.#leave(address, next.origin);
    return path;
  }

  /** Puts a checkpoint aside that contradicts what is remembered of that log; gives its file. */
  keepRefused(origin: string, note: string, proof?: string): string {
    const path = join(this.#folderOf(origin), REFUSED_FILE);
    if (proof !== undefined) replaceFile(join(this.#folderOf(origin), REFUSED_PROOF_FILE), proof);
    replaceFile(path, note);
    return path;
  }

  #keepFacts({ origin, keys, addresses, former }: WatchedLog): void {
    const path = join(this.#folderOf(origin), LOG_FILE);
    const end = former === undefined ? {} : { former: endOut(former) };
    const facts = `${JSON.stringify({ origin, keys, addresses, ...end })}\n`;
    if (textIfAny(path) !== facts) replaceFile(path, facts);
  }

  /** Where one log has taken the place of another, as after a restore, the address is that of the new one. */
  #leave(address: string, newOrigin: string): void {
    for (const log of this.#allAt(address)) {
      if (log.origin === newOrigin) continue;
      this.#keepFacts({ ...log, addresses: log.addresses.filter((each) => each !== address) });
    }
  }

  #allAt(address: string): WatchedLog[] {
    return this.#all().filter(({ addresses }) => addresses.includes(address));
  }

  #all(): WatchedLog[] {
    const logs = foldersIn(this.#directory).map((folder) => logIn(join(this.#directory, folder)));
    return logs.filter((log) => log !== undefined);
  }

  #folderOf(origin: string): string {
    return join(this.#directory, toHex(sha256(new TextEncoder().encode(origin))));
  }
}

/** What a kept note says; its signature was verified when it was kept. */
export function keptCheckpoint({ checkpoint }: WatchedLog): Checkpoint {
  return parseCheckpoint(parseNote(checkpoint).text);
}

function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => /^[0-9a-f]{64}$/.test(name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw new CannotRun(`cannot read the state directory ${directory}: ${codeOf(error)}`);
  }
}

function logIn(folder: string): WatchedLog | undefined {
  const [checkpoint, facts] = [join(folder, CHECKPOINT_FILE), join(folder, LOG_FILE)].map(textIfAny);
  if (checkpoint === undefined) {
    if (facts === undefined) return undefined;
    throw new CannotRun(
      `${join(folder, CHECKPOINT_FILE)} is gone: what was seen of the log is forgotten, and a rollback would not be noticed. Put it back, or remove ${folder} to begin anew`,
    );
  }
  try {
    const { origin } = parseCheckpoint(parseNote(checkpoint).text);
    return { origin, checkpoint, ...factsIn(facts, origin) };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(
      `what is kept in ${folder} cannot be read: ${error.message}. Put it back, or remove the folder`,
    );
  }
}

function factsIn(
  text: string | undefined,
  origin: string,
): Pick<WatchedLog, 'keys' | 'addresses' | 'former'> {
  if (text === undefined) return { keys: [], addresses: [] };
  const facts = membersOf(parseJson(text));
  const { keys, addresses, former } = facts;
  if (facts['origin'] !== origin || !areTexts(keys) || !areTexts(addresses)) {
    throw new EvidenceError('MALFORMED', `${LOG_FILE} does not belong to the checkpoint beside it`);
  }
  return { keys, addresses, ...(former === undefined ? {} : { former: endIn(former) }) };
}

function endOut({ origin, size, root }: Checkpoint) {
  return { origin, size, root: toBase64(root) };
}

function endIn(value: unknown): Checkpoint {
  const { origin, size, root } = membersOf(value);
  if (typeof origin === 'string' && typeof size === 'number' && typeof root === 'string') {
    // Read as the checkpoint that it is, so that a number which is none is not taken for an end.
    const read = parseCheckpoint(formatCheckpoint({ origin, size, root: fromBase64(root) }));
    return { origin: read.origin, size: read.size, root: read.root };
  }
  throw new EvidenceError('MALFORMED', `${LOG_FILE} does not say where the log before it has ended`);
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
