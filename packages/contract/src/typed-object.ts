// Object.keys and its kin, typed for tables written in this package: their keys are exactly those of their type.
// TypeScript widens to `string` because an object may have more members than its type says; a literal has not.

/* oxlint-disable typescript/no-unsafe-type-assertion -- the one place where that widening is undone */

export function keysOf<T extends object>(table: T): (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[];
}

export function entriesOf<K extends string, V>(table: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(table) as [K, V][];
}

export function tableOf<K extends string, V>(entries: Iterable<readonly [K, V]>): Record<K, V> {
  return Object.fromEntries(entries) as Record<K, V>;
}
