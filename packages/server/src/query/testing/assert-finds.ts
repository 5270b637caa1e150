// Asks for an event by queries as they are written.

import assert from 'node:assert/strict';
import type { AuditEvent } from '@tallystick/contract';
import { matches } from '../matches.ts';
import { parseQuery } from '../query-parser.ts';

export function finds(written: string, event: AuditEvent): boolean {
  const { query, fault } = parseQuery(written);
  assert.ok(query, fault?.issue);
  return matches(query, event);
}

/** By each of `found` the event is found, by none of `missed`. */
export function assertFinds(event: AuditEvent, found: readonly string[], missed: readonly string[]): void {
  for (const written of found) assert.ok(finds(written, event), `does not find by ${written}`);
  for (const written of missed) assert.ok(!finds(written, event), `finds by ${written}`);
}
