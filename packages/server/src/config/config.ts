// From what was written to the checked, frozen configuration. Every wrong, missing or unknown setting is
// reported, all of them at once, one line each: the setting, what was written, what is allowed.

import { type Entries, type Environment, readEntries, type Source } from './environment.ts';
import { ConfigError } from './config-error.ts';
import { brokenRules } from './rules.ts';
import { isOurVariable, meantBy } from './our-variables.ts';
import { isSectionList, isSetting, type Node, type Setting } from './setting.ts';
import { type Config, SETTINGS } from './settings.ts';

/** One setting as it holds, for showing. `value` is printable: secrets are masked. */
export interface EffectiveSetting {
  readonly name: string;
  readonly value: unknown;
  readonly source: Source | 'default';
  readonly otherwise?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly settings: readonly EffectiveSetting[];
}

/** Throws ConfigError. */
export function loadConfig(environment: Environment): LoadedConfig {
  const entries = readEntries(environment, isOurVariable);
  const reading: Reading = { entries, used: new Set(), wrong: new Set(), problems: [], settings: [] };
  const config = readNode(SETTINGS, '', reading) as Config;
  const unknown = unknownSettings(reading);
  const { used, wrong } = reading;
  const isMisspelt = (name: string) => unknown.some(({ close }) => close === name);
  const broken = brokenRules({
    config,
    isGiven: (name) => used.has(name) || isMisspelt(name),
    isWrong: (name) => wrong.has(name) || (isMisspelt(name) && !used.has(name)),
  });
  const problems = [...reading.problems, ...unknown.map(({ problem }) => problem), ...broken];
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: deepFreeze(config), settings: Object.freeze(reading.settings) };
}

interface Reading {
  readonly entries: Entries;
  readonly used: Set<string>;
  /** Settings whose written value is not allowed. */
  readonly wrong: Set<string>;
  readonly problems: string[];
  readonly settings: EffectiveSetting[];
}

function readNode(node: Node, name: string, reading: Reading): unknown {
  if (isSetting(node)) return readSetting(node, node.name ?? name, reading);
  if (isSectionList(node)) {
    if (isEmptyList(name, reading)) return [];
    return indexes(name, reading).map((index) => readNode(node.each, `${name}__${index}`, reading));
  }
  const fields = Object.entries(node).map(([key, part]) => [
    key[0]!.toLowerCase() + key.slice(1),
    readNode(part, name === '' ? key : `${name}__${key}`, reading),
  ]);
  return Object.fromEntries(fields);
}

function readSetting(setting: Setting<unknown>, name: string, reading: Reading): unknown {
  const { kind } = setting;
  const written = takeWritten(setting, name, reading);
  if (written === undefined) {
    if (setting.required) reading.problems.push(`${name} is missing; allowed: ${kind.allowed}`);
    note(setting, name, setting.default, 'default', reading);
    return setting.default;
  }
  const value = kind.read(written.value);
  if (value === undefined) {
    const shown = kind.secret
      ? 'the value given (not shown, it is a secret)'
      : JSON.stringify(written.value).slice(0, 200);
    reading.problems.push(
      `${name}: ${shown} in the ${written.source} is not allowed; allowed: ${kind.allowed}`,
    );
    reading.wrong.add(name);
    return setting.default;
  }
  note(setting, name, value, written.source, reading);
  return value;
}

function takeWritten(setting: Setting<unknown>, name: string, reading: Reading) {
  const whole = reading.entries.get(name);
  if (whole !== undefined) {
    reading.used.add(name);
    return whole;
  }
  if (!setting.kind.list) return undefined;
  const items = indexes(name, reading).map((index) => `${name}__${index}`);
  const written = items.flatMap((item) => reading.entries.get(item) ?? []);
  for (const item of items) reading.used.add(item);
  const last = written.at(-1);
  return last && { value: written.map((item) => item.value), source: last.source };
}

/** The indexes under a list, in order; a gap is reported, because a forgotten item must not go unnoticed. */
function indexes(name: string, reading: Reading): number[] {
  const found = new Set<number>();
  for (const entry of reading.entries.keys()) {
    const index = entry.startsWith(`${name}__`) ? entry.slice(name.length + 2).split('__')[0]! : '';
    if (/^(0|[1-9]\d{0,2})$/.test(index)) found.add(Number(index));
  }
  const sorted = [...found].sort((a, b) => a - b);
  const gap = sorted.findIndex((index, place) => index !== place);
  if (gap !== -1)
    reading.problems.push(`${name}__${gap} is missing; ${name} is numbered from 0 without gaps`);
  return sorted;
}

function isEmptyList(name: string, reading: Reading): boolean {
  const written = reading.entries.get(name)?.value;
  const empty = Array.isArray(written) && written.length === 0;
  if (empty) reading.used.add(name);
  return empty;
}

function note(
  setting: Setting<unknown>,
  name: string,
  value: unknown,
  source: EffectiveSetting['source'],
  to: Reading,
) {
  to.settings.push({
    name,
    value: value === undefined || value === null ? undefined : setting.kind.show(value),
    source,
    ...(setting.otherwise === undefined ? {} : { otherwise: setting.otherwise }),
  });
}

interface UnknownSetting {
  readonly problem: string;
  /** What was perhaps meant. */
  readonly close: string | undefined;
}

function unknownSettings({ entries, used }: Reading): UnknownSetting[] {
  return [...entries].flatMap(([name, { source }]) => {
    if (used.has(name)) return [];
    const { setting, question } = meantBy(name);
    return { problem: `${name} in the ${source} is not a setting${question}`, close: setting };
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const part of Object.values(value)) deepFreeze(part);
    Object.freeze(value);
  }
  return value;
}
