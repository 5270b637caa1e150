// Witness policies (c2sp.org/tlog-policy): which logs, which witnesses, and which of them must have cosigned.
//
//   log <verifier key> [<url>]
//   witness <name> <verifier key> [<url>]
//   group <name> <k, any or all> <member> …     as good as a witness once k of its members have cosigned
//   quorum <name, or none>                      one line, and not more than one
//
// Words are parted by spaces and tabs; blank lines and those that begin with # say nothing. A line names only what stands
// above it, and each name is a member of one group at most, so that no witness counts twice. A text that breaks a rule
// is MALFORMED, with its line.

import { toBase64 } from '../bytes.ts';
import { cosignatureVerifier } from '../note/cosignature.ts';
import { EvidenceError } from '../errors.ts';
import { noteVerifier, type Verifier } from '../note/note.ts';
import { keyIdOf, parseVerifierKey } from '../note/verifier-key.ts';

/** Of logs, of witnesses and of groups, each. A note has room for 100 signatures. */
export const POLICY_LINES_MAX = 64;

export interface PolicyLog {
  readonly verifier: Verifier;
  readonly url?: string;
}

export interface PolicyWitness {
  /** Of the policy's own; the name of its key may be another one. */
  readonly name: string;
  readonly verifier: Verifier;
  readonly url?: string;
}

export interface PolicyGroup {
  readonly name: string;
  readonly membersMin: number;
  readonly members: readonly string[];
}

export interface WitnessPolicy {
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  /** In the order of the file: the members of each stand before it. */
  readonly groups: readonly PolicyGroup[];
  /** A witness or a group. Undefined: nobody has to cosign. */
  readonly quorum: string | undefined;
}

const NOBODY = 'none';

export async function parsePolicy(text: string): Promise<WitnessPolicy> {
  const draft = new PolicyDraft();
  for (const [i, line] of text.split('\n').entries()) {
    try {
      await draft.add(wordsOf(line));
    } catch (error) {
      if (!(error instanceof EvidenceError)) throw error;
      const message = `line ${i + 1}: ${error.message}`;
      throw new EvidenceError('MALFORMED', message, { line: i + 1, cause: error });
    }
  }
  return draft.policy();
}

/** Whether these witnesses, by their names in the policy, are enough. */
export function isQuorum(policy: WitnessPolicy, cosignedBy: Iterable<string>): boolean {
  if (policy.quorum === undefined) return true;
  const names = new Set(cosignedBy);
  const witnessed = new Set(policy.witnesses.map(({ name }) => name).filter((name) => names.has(name)));
  for (const { name, membersMin, members } of policy.groups) {
    if (members.filter((member) => witnessed.has(member)).length >= membersMin) witnessed.add(name);
  }
  return witnessed.has(policy.quorum);
}

/** The words of a line, none for one that says nothing. */
function wordsOf(line: string): string[] {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  const control = /[\u0000-\u0008\u000b-\u001f\u007f]/.exec(line)?.[0];
  if (control !== undefined) {
    throw fault(`control character ${JSON.stringify(control)}; only tabs and newlines are allowed`);
  }
  if (!line.isWellFormed()) throw fault('not valid Unicode');
  const words = line.split(/[ \t]+/).filter((word) => word !== '');
  return words[0]?.startsWith('#') ? [] : words;
}

function fault(message: string): EvidenceError {
  return new EvidenceError('MALFORMED', message);
}

/** A policy while it is read. */
class PolicyDraft {
  readonly #logs: PolicyLog[] = [];
  readonly #witnesses: PolicyWitness[] = [];
  readonly #groups: PolicyGroup[] = [];
  readonly #names = new Set<string>();
  readonly #members = new Set<string>();
  readonly #keys = new Set<string>();
  #quorum: string | undefined;

  async add([kind, ...words]: string[]): Promise<void> {
    if (kind === undefined) return;
    if (kind === 'log') await this.#addLog(words);
    else if (kind === 'witness') await this.#addWitness(words);
    else if (kind === 'group') this.#addGroup(words);
    else if (kind === 'quorum') this.#setQuorum(words);
    else throw fault(`${quoted(kind)} is not log, witness, group or quorum`);
  }

  policy(): WitnessPolicy {
    if (this.#quorum === undefined) throw fault('policy has no quorum line');
    const quorum = this.#quorum === NOBODY ? undefined : this.#quorum;
    return { logs: this.#logs, witnesses: this.#witnesses, groups: this.#groups, quorum };
  }

  async #addLog([key, url, ...rest]: string[]): Promise<void> {
    if (key === undefined || rest.length > 0) throw fault('a log is: log <verifier key> [<url>]');
    requireRoom('logs', this.#logs);
    this.#takeKey('log', key);
    this.#logs.push({ verifier: await noteVerifier(key), ...(url === undefined ? {} : { url }) });
  }

  async #addWitness([name, key, url, ...rest]: string[]): Promise<void> {
    if (name === undefined || key === undefined || rest.length > 0) {
      throw fault('a witness is: witness <name> <verifier key> [<url>]');
    }
    requireRoom('witnesses', this.#witnesses);
    this.#takeName(name);
    this.#takeKey('witness', key);
    const verifier = await cosignatureVerifier(key);
    this.#witnesses.push({ name, verifier, ...(url === undefined ? {} : { url }) });
  }

  #addGroup([name, count, ...members]: string[]): void {
    if (name === undefined || count === undefined || members.length === 0) {
      throw fault('a group is: group <name> <k, any or all> <member> …');
    }
    requireRoom('groups', this.#groups);
    // Before its own name is taken: a group is no member of itself.
    for (const member of members) this.#takeMember(member);
    this.#takeName(name);
    this.#groups.push({ name, membersMin: countIn(count, members.length), members });
  }

  #setQuorum([name, ...rest]: string[]): void {
    if (name === undefined || rest.length > 0) throw fault('a quorum is: quorum <name, or none>');
    if (this.#quorum !== undefined) throw fault('a policy has one quorum line, and this is the second');
    if (name !== NOBODY) this.#requireDefined(name);
    this.#quorum = name;
  }

  #takeName(name: string): void {
    if (name === NOBODY) throw fault(`${NOBODY} is the name of no witness and no group`);
    if (this.#names.has(name)) throw fault(`the name ${quoted(name)} is taken by a line above`);
    this.#names.add(name);
  }

  #takeMember(name: string): void {
    this.#requireDefined(name);
    if (this.#members.has(name)) throw fault(`${quoted(name)} is a member already and would count twice`);
    this.#members.add(name);
  }

  #requireDefined(name: string): void {
    if (!this.#names.has(name)) throw fault(`${quoted(name)} is no witness and no group of a line above`);
  }

  /** One key under two names is one party; and two keys that signatures call by the same name cannot be told apart. */
  #takeKey(of: 'log' | 'witness', text: string): void {
    const key = parseVerifierKey(text);
    for (const taken of [`${of} ${toBase64(key.publicKey)}`, `${of} called ${key.name}+${keyIdOf(key)}`]) {
      if (this.#keys.has(taken)) throw fault(`the key of this ${of} stands on a line above`);
      this.#keys.add(taken);
    }
  }
}

function requireRoom(what: string, lines: readonly unknown[]): void {
  if (lines.length >= POLICY_LINES_MAX) throw fault(`policy has more than ${POLICY_LINES_MAX} ${what}`);
}

function countIn(text: string, membersMax: number): number {
  if (text === 'any') return 1;
  if (text === 'all') return membersMax;
  const count = Number(text);
  if (/^[1-9]\d*$/.test(text) && count <= membersMax) return count;
  throw fault(`${quoted(text)} is not any, all or a number from 1 to ${membersMax}, the number of members`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
