// What a setting is, and how a description of settings gives the type of the configuration.

import type { Kind } from './kinds.ts';

export interface Setting<T> {
  readonly kind: Kind<T & {}>;
  readonly default: T;
  readonly meaning: string;
  /** What holds when the setting is absent, where that is not a plain value. */
  readonly otherwise?: string;
  /** Its absence is an error. */
  readonly required?: true;
  /** The name, where it is not the section path. */
  readonly name?: string;
}

/** Sections numbered from 0: `Authentication__Issuers__0__Issuer`. */
export interface SectionList<F extends Section> {
  readonly each: F;
  readonly meaning: string;
}

export type Node = Setting<unknown> | SectionList<Section> | Section;

export interface Section {
  readonly [name: string]: Node;
}

/** The value that a node of the description gives: PascalCase names become camelCase fields. */
export type ValueOf<N> =
  N extends Setting<infer T>
    ? T
    : N extends SectionList<infer F>
      ? readonly ValueOf<F>[]
      : { readonly [K in keyof N & string as Uncapitalize<K>]: ValueOf<N[K]> };

/** A setting with a default value. */
export function setting<T extends {}>(kind: Kind<T>, value: T, meaning: string): Setting<T> {
  return { kind, default: value, meaning };
}

/** A setting that may be absent; `otherwise` says what holds then. */
export function optional<T extends {}>(
  kind: Kind<T>,
  otherwise: string,
  meaning: string,
): Setting<T | undefined> {
  return { kind, default: undefined, otherwise, meaning };
}

/** A setting that must be given; the default is never seen, because absence is reported. */
export function required<T extends {}>(kind: Kind<T>, meaning: string): Setting<T> {
  return { kind, default: undefined as unknown as T, required: true, meaning };
}

export function isSetting(node: Node): node is Setting<unknown> {
  return 'kind' in node && 'default' in node;
}

export function isSectionList(node: Node): node is SectionList<Section> {
  return 'each' in node && typeof node.meaning === 'string';
}
