// The effective settings as `tallystick config` prints them: for people, one line each with its source; as JSON,
// in the form of the file. Secrets are masked in both.

import type { EffectiveSetting } from './config.ts';

export function showAsText(settings: readonly EffectiveSetting[]): string {
  const width = Math.max(...settings.map(({ name }) => name.length));
  return settings.map((setting) => `${setting.name.padEnd(width)}  ${line(setting)}\n`).join('');
}

function line({ value, source, otherwise }: EffectiveSetting): string {
  const shown = value === undefined ? `not set: ${otherwise}` : printed(value);
  return value === undefined ? shown : `${shown}  (${source})`;
}

function printed(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

export function showAsJson(settings: readonly EffectiveSetting[]): string {
  const root: Branch = new Map();
  for (const { name, value } of settings) {
    if (value !== undefined) place(root, name.split('__'), value);
  }
  return `${JSON.stringify(plain(root), null, 2)}\n`;
}

type Branch = Map<string, unknown>;

function place(branch: Branch, [key, ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    branch.set(key!, value);
    return;
  }
  if (!branch.has(key!)) branch.set(key!, new Map());
  place(branch.get(key!) as Branch, rest, value);
}

/** A branch whose keys are all indexes is a list. */
function plain(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  const keys = [...value.keys()] as string[];
  if (keys.every((key) => /^\d+$/.test(key))) return [...value.values()].map(plain);
  return Object.fromEntries([...value].map(([key, part]) => [key, plain(part)]));
}
