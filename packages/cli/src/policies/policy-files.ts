// Reads policies from files. A YAML file has a policy in each document; a JSON file has a policy or a list of them; a
// directory means all .yaml, .yml and .json files in it, sorted by name. The service validates the policies; this file refuses
// only what cannot be read, is not a mapping or is ambiguous. Throws CannotRun with file and line.

import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyConfiguration, withoutIgnored } from '@tallystick/contract';
import { scanJson } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { membersOf } from '../members.ts';
import { cannotRead, textOrNone } from '../read-text.ts';
import { NotReadable, type ReadDocument, readYaml } from './read-yaml.ts';

export interface PolicyInFile {
  readonly file: string;
  /** Undefined if there is none, or if it is not a string. */
  readonly name: string | undefined;
  /** Without members that the service ignores, such as `version` or a `null` in an optional member. */
  readonly policy: Readonly<Record<string, unknown>>;
  /** The line of the member at a path of the policy, or of the nearest one around it. */
  readonly lineOf: (path: string) => number;
}

const FILE_BYTES_MAX = 1_048_576;
const ENDINGS = /\.(yaml|yml|json)$/;

/** In the order of the paths. */
export function readPolicyFiles(paths: readonly string[]): PolicyInFile[] {
  const found = paths.flatMap(filesAt).flatMap(policiesIn);
  const first = new Map<string, PolicyInFile>();
  for (const each of found) {
    if (each.name === undefined) continue;
    const other = first.get(each.name);
    if (other !== undefined)
      throw refused(each, 'name', `duplicate policy name; the first is at ${other.file}:${other.lineOf('')}`);
    first.set(each.name, each);
  }
  return found;
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const files = readdirSync(path)
      .filter((name) => ENDINGS.test(name))
      .toSorted()
      .map((name) => join(path, name));
    // Reading a named pipe would wait for a writer.
    const regular = files.filter((file) => statSync(file).isFile());
    if (regular.length > 0) return regular;
  } catch (error) {
    throw cannotRead(path, error);
  }
  throw new CannotRun(`${path} contains no .yaml, .yml or .json file`);
}

function policiesIn(file: string): PolicyInFile[] {
  const text = textOf(file);
  try {
    const isJson = file.endsWith('.json');
    if (isJson) requireJson(text);
    const policies = readYaml(text).flatMap((document) => {
      const isList = isJson && Array.isArray(document.value);
      const values = isList ? (document.value as unknown[]) : [document.value];
      return values.map((value, i) => policyOf(file, value, document, isList ? `[${i}]` : ''));
    });
    if (policies.length === 0) throw new CannotRun(`${file} contains no policy`);
    return policies;
  } catch (error) {
    if (error instanceof NotReadable) throw new CannotRun(`${file}:${error.line}: ${error.message}`);
    throw error;
  }
}

/** `at` is the path of the policy in the document. */
function policyOf(file: string, value: unknown, { lineOf }: ReadDocument, at: string): PolicyInFile {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new NotReadable(lineOf(at), `a policy must be a mapping, not ${kindOf(value)}`);
  const policy = membersOf(withoutIgnored(PolicyConfiguration, value));
  const { name, status, active } = policy;
  const found: PolicyInFile = {
    file,
    name: typeof name === 'string' ? name : undefined,
    policy,
    lineOf: (path) => lineOf(`${at}${at === '' || path === '' || path.startsWith('[') ? '' : '.'}${path}`),
  };
  // Validation accepts it beside a policy, but it is not part of one: creating the policy would fail.
  if ('timeRange' in policy) throw refused(found, 'timeRange', 'timeRange is not a field of a policy');
  // Ambiguous: nobody knows which of the two the author has edited.
  if (typeof status === 'string' && typeof active === 'boolean' && active !== (status === 'Active'))
    throw refused(found, 'active', `active: ${active} contradicts status: ${status}; keep one of them`);
  return found;
}

function refused({ file, lineOf }: PolicyInFile, path: string, why: string): CannotRun {
  return new CannotRun(`${file}:${lineOf(path)}: ${why}`);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function requireJson(text: string): void {
  const { syntax } = scanJson(new TextEncoder().encode(text));
  if (syntax !== undefined) throw new NotReadable(syntax.line, `not valid JSON: ${syntax.issue}`);
}

/** Reads no more than the limit: the file may be a pipe. */
function textOf(file: string): string {
  const bytes = bytesOf(file);
  if (bytes.length > FILE_BYTES_MAX) throw new CannotRun(`${file} is over ${FILE_BYTES_MAX} bytes`);
  const text = textOrNone(bytes);
  if (text === undefined) throw new CannotRun(`${file} is not valid UTF-8`);
  return text;
}

function bytesOf(file: string): Uint8Array {
  const bytes = new Uint8Array(FILE_BYTES_MAX + 1);
  let length = 0;
  try {
    const opened = openSync(file, 'r');
    try {
      for (let more = 1; more > 0 && length < bytes.length; length += more)
        more = readSync(opened, bytes, length, bytes.length - length, null);
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    throw cannotRead(file, error);
  }
  return bytes.subarray(0, length);
}
