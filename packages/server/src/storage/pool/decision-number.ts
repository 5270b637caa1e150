// What has decided about an event is one text for many events (policies/decided-by.ts): it is stored once for each tenant, and events
// refer to it by a number that is computed from the text, so storing it takes no read.

import { hash } from 'node:crypto';

/** Of a hash; the texts of a tenant are few, so two with one number are not to be expected. */
const NUMBER_BYTES = 6;

/** Texts whose numbers are known; a tenant has few. */
const known = new Map<string, number>();
const KNOWN_MAX = 1000;

export function decisionNumber(text: string): number {
  let number = known.get(text);
  if (number === undefined) {
    number = Buffer.from(hash('sha256', text, 'hex'), 'hex').readUIntBE(0, NUMBER_BYTES);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(text, number);
  }
  return number;
}
