// Columns of CSV that show single values of context and payload, beside the two columns that have all of both. A column is named by its
// path as people write it; the manifest has the steps of the path, so that a verifier reads no grammar.
//
//   payload.amount · payload.lines[0].sku · payload."due date"
//
// A cell is the text of a string, or else the RFC 8785 text of the value. It is empty where the event has nothing at that path.

import { canonicalJson } from '../json/canonical-json.ts';

/** From the event down: the key of a member, or the index of an element. */
export type ContentPath = readonly ['context' | 'payload', ...(string | number)[]];

const PLAIN_KEY = /^[\p{L}\p{N}\p{M}_$@-]+$/u;

export function columnName([root, ...steps]: ContentPath): string {
  const named = steps.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    return PLAIN_KEY.test(step) ? `.${step}` : `."${step.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return root + named.join('');
}

/** `content`: that of context and payload which the path is of. */
export function contentCell(content: unknown, [, ...steps]: ContentPath): string {
  let value = content;
  for (const step of steps) {
    const isInside =
      typeof value === 'object' &&
      value !== null &&
      Array.isArray(value) === (typeof step === 'number') &&
      Object.hasOwn(value, step);
    if (!isInside) return '';
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  if (value === undefined) return '';
  return typeof value === 'string' ? value : canonicalJson(value);
}
