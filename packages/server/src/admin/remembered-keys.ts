// Idempotency keys of operations that are safe to do again: what was answered under a key is remembered by this process,
// so that a repeat gets the same answer. After a restart it is done again instead.

import { fail } from 'node:assert/strict';
import { LIMITS } from '@tallystick/contract';
import { type Call, keyReused } from '../call.ts';
import { isRepeat, UNCLASSIFIED } from '../repeats.ts';
import type { Clock } from '../runtime/clock.ts';

interface Remembered<Body> {
  readonly fingerprint: Uint8Array;
  readonly body: Body;
  readonly expiresAtMs: number;
}

const KEYS_MAX = 10_000;

export class RememberedKeys<Body> {
  readonly #clock: Clock;
  readonly #keys = new Map<string, Remembered<Body>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What was answered under the key of this call; throws if that was to another request. */
  answered(call: Call): { readonly kind: 'Repeated'; readonly body: Body } | undefined {
    const found = call.once === undefined ? undefined : this.#keys.get(nameOf(call, call.once.key));
    if (found === undefined || found.expiresAtMs <= this.#clock.now()) return undefined;
    const asked = { fingerprint: fingerprintIn(call), clearance: call.caller?.clearance ?? UNCLASSIFIED };
    if (!isRepeat({ ...found, classification: UNCLASSIFIED }, asked)) throw keyReused();
    return { kind: 'Repeated', body: found.body };
  }

  remember(call: Call, body: Body): void {
    const fingerprint = fingerprintIn(call);
    if (call.once === undefined || fingerprint === undefined) return;
    // The oldest goes first.
    if (this.#keys.size >= KEYS_MAX) this.#keys.delete(this.#keys.keys().next().value!);
    const expiresAtMs = this.#clock.now() + LIMITS.idempotencyWindowMs;
    this.#keys.set(nameOf(call, call.once.key), { fingerprint, body, expiresAtMs });
  }

  /** For the gateway, which looks in the log alone and so finds no such key. */
  readonly again = (): never => fail('nothing uses up a key that is only remembered');
}

function fingerprintIn({ once, tenantRecord }: Call): Uint8Array | undefined {
  return tenantRecord === undefined ? undefined : once?.fingerprint(tenantRecord);
}

function nameOf({ tenant, operation }: Call, key: string): string {
  return `${tenant}\n${operation}\n${key}`;
}
