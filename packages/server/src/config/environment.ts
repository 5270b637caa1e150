// Reads what the operator wrote, once: the file (`tallystick.json`, or the one named by `--config`), then the
// environment over it. Both become one flat list of `Section__Name` entries; a list's items carry their index
// (`Server__TrustedProxies__0`). Nothing is judged here but whether the file can be read.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from './config-error.ts';

export type Source = 'file' | 'environment';

export interface Written {
  readonly value: unknown;
  readonly source: Source;
}

/** What was written, by setting name. */
export type Entries = Map<string, Written>;

export interface Environment {
  /** Variables of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  /** The file named on the command line; it must then exist. */
  readonly configFile?: string | undefined;
}

const DEFAULT_FILE = 'tallystick.json';

/**
 * `isOurs` tells our variables from all the others that a process has. The environment wins over the file: item
 * by item where both number a list's items, else the whole list.
 */
export function readEntries(environment: Environment, isOurs: (variable: string) => boolean): Entries {
  const entries: Entries = new Map();
  flatten(readFile(environment), '', entries);
  for (const [name, value] of Object.entries(environment.variables)) {
    if (value === undefined || !isOurs(name)) continue;
    for (const [known, { source }] of entries) {
      const replaced = known.startsWith(`${name}__`) || (known !== name && name.startsWith(`${known}__`));
      if (source === 'file' && replaced) entries.delete(known);
    }
    entries.set(name, { value, source: 'environment' });
  }
  return entries;
}

function readFile({ workingDirectory, configFile }: Environment): unknown {
  const file = resolve(workingDirectory, configFile ?? DEFAULT_FILE);
  let bytes: string;
  try {
    bytes = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' && configFile === undefined) return {};
    throw new ConfigError([`cannot read the settings file ${file} (${code})`]);
  }
  return parseFile(file, bytes);
}

function parseFile(file: string, bytes: string): object {
  try {
    const settings: unknown = JSON.parse(bytes);
    if (typeof settings === 'object' && settings !== null && !Array.isArray(settings)) return settings;
  } catch (error) {
    // The parser's message quotes the file, and the file may hold secrets: only the place is shown.
    const place = /line \d+ column \d+/.exec(String(error))?.[0];
    throw new ConfigError([
      `the settings file ${file} is not JSON${place === undefined ? '' : ` (${place})`}`,
    ]);
  }
  throw new ConfigError([`the settings file ${file} must hold one JSON object`]);
}

/** An empty list or section stays one entry, so that it is seen; null means absent. */
function flatten(value: unknown, name: string, entries: Entries): void {
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (parts.length > 0) {
    for (const [key, part] of parts) flatten(part, name === '' ? key : `${name}__${key}`, entries);
  } else if (name !== '' && value !== null && value !== undefined) {
    entries.set(name, { value, source: 'file' });
  }
}
