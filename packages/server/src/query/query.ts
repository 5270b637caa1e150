// A query as a tree: what the user wrote, without a meaning yet. matches.ts says what it means, query-parser.ts reads
// it, and tests write it with testing/format-query.ts.

import type { QueryStep } from './field-path.ts';
import type { FieldName } from './fields.ts';

export type Query = And | Or | Not | Term;

/** All hold; an empty one holds for every event. */
export interface And {
  readonly kind: 'And';
  readonly of: readonly Query[];
}

export interface Or {
  readonly kind: 'Or';
  readonly of: readonly Query[];
}

export interface Not {
  readonly kind: 'Not';
  readonly of: Query;
}

export type Term = Text | Value | Comparison | Existence;

/** Words side by side, anywhere. `prefix`: the text is a beginning. */
export interface Text {
  readonly kind: 'Text';
  readonly text: string;
  readonly prefix: boolean;
}

/** `field:text` */
export interface Value {
  readonly kind: 'Value';
  readonly field: Field;
  readonly text: string;
  readonly prefix: boolean;
}

export type Operator = '=' | '>' | '>=' | '<' | '<=';

/** `field:>value`; of times also `field:value`. A day is `2026-01-02`, an instant is in UTC. */
export interface Comparison {
  readonly kind: 'Comparison';
  readonly field: Field;
  readonly operator: Operator;
  readonly value: number | string;
}

/** `field:*` */
export interface Existence {
  readonly kind: 'Existence';
  readonly field: Field;
}

/** A field with a name of its own, or a path whose first step is context or payload; that step alone is all of it. */
export type Field =
  | { readonly name: FieldName; readonly path?: undefined }
  | { readonly name?: undefined; readonly path: ContentPath };

export type ContentPath = readonly ['context' | 'payload', ...QueryStep[]];

export const EVERYTHING: And = { kind: 'And', of: [] };
