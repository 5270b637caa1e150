// Verifications under way and done, in memory: they change nothing, and after a restart can be asked for again. Tenants
// take turns, with one under way for each, so that nobody waits behind all that another one has asked for. A verdict is
// kept for a day, and no longer than until its tenant has asked for KEPT_MAX more; its key is forgotten with it.

import { AuditError, LIMITS, type StreamId, type TenantId } from '@tallystick/contract';
import type { Signing } from '../keys/signing.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { RangeVerdict, TreeReader } from './tree.ts';

export interface TurnParts {
  readonly trees: Pick<TreeReader, 'checkRange'>;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly signing: Pick<Signing, 'publicKeys'>;
  readonly telemetry: Telemetry;
}

export interface VerificationWish {
  readonly tenant: TenantId;
  readonly streamId: StreamId;
  readonly requestedBy: string;
  readonly fromIndex: number;
  readonly endIndex: number;
  /** The size of the smallest checkpoint that covers the range, of the log that holds it; 0 for an empty range. */
  readonly requiredSize: number;
  readonly key: { readonly key: string; readonly fingerprint: Uint8Array } | undefined;
}

export interface Verification extends VerificationWish {
  readonly operationId: string;
  readonly requestedAtMs: number;
  checkedEvents: number;
  startedAtMs?: number;
  completedAtMs?: number;
  verdict?: RangeVerdict;
  failureReason?: string;
}

/** All that is kept of one tenant. */
interface Own {
  /** Oldest first. */
  readonly kept: Set<Verification>;
  readonly byKey: Map<string, Verification>;
  readonly waiting: Verification[];
  isUnderWay: boolean;
}

/** So many are recomputed at a time, of different tenants; others wait. */
const UNDER_WAY_MAX = 2;
/** Of one tenant. */
export const WAITING_MAX = 10;
export const KEPT_MAX = 100;
const KEPT_MS = LIMITS.idempotencyWindowMs;

export class VerificationTurns implements AsyncDisposable {
  readonly #parts: TurnParts;
  /** By operation id, oldest first. */
  readonly #all = new Map<string, Verification>();
  readonly #tenants = new Map<TenantId, Own>();
  /** Those with something that waits and nothing under way, the next one first. */
  readonly #turns = new Set<Own>();
  readonly #underWay = new Set<Promise<void>>();
  #isStopping = false;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  find(operationId: string): Verification | undefined {
    return this.#all.get(operationId);
  }

  underKey(tenant: TenantId, key: string): Verification | undefined {
    this.#forgetOld();
    return this.#tenants.get(tenant)?.byKey.get(key);
  }

  begin(wish: VerificationWish): Verification {
    if (this.#isStopping) throw stopping();
    this.#forgetOld();
    const own = this.#ownOf(wish.tenant);
    if (own.waiting.length >= WAITING_MAX) {
      throw new AuditError(
        'SERVICE_UNAVAILABLE',
        `${WAITING_MAX} verifications of this tenant wait already.`,
      );
    }
    // Those of a tenant end in the order of their beginning, and so few wait that the oldest one has ended.
    for (const oldest of own.kept) {
      if (own.kept.size < KEPT_MAX) break;
      this.#forget(oldest);
    }
    const verification: Verification = {
      ...wish,
      operationId: this.#parts.nextId(),
      requestedAtMs: this.#parts.clock.now(),
      checkedEvents: 0,
    };
    this.#all.set(verification.operationId, verification);
    own.kept.add(verification);
    if (wish.key !== undefined) own.byKey.set(wish.key.key, verification);
    own.waiting.push(verification);
    if (!own.isUnderWay) this.#turns.add(own);
    this.#beginNext();
    return verification;
  }

  /** What waits is dropped, and what is under way ends where it is. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#turns.clear();
    await Promise.all(this.#underWay);
  }

  #ownOf(tenant: TenantId): Own {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const own: Own = { kept: new Set(), byKey: new Map(), waiting: [], isUnderWay: false };
    this.#tenants.set(tenant, own);
    return own;
  }

  #beginNext(): void {
    for (const own of this.#turns) {
      if (this.#isStopping || this.#underWay.size >= UNDER_WAY_MAX) return;
      this.#turns.delete(own);
      const next = own.waiting.shift();
      if (next !== undefined) this.#start(next, own);
    }
  }

  #start(verification: Verification, own: Own): void {
    own.isUnderWay = true;
    verification.startedAtMs = this.#parts.clock.now();
    const run = this.#run(verification).finally(() => {
      this.#underWay.delete(run);
      own.isUnderWay = false;
      if (own.waiting.length > 0) this.#turns.add(own);
      this.#beginNext();
    });
    this.#underWay.add(run);
  }

  /** Never rejects. */
  async #run(verification: Verification): Promise<void> {
    const { clock, telemetry } = this.#parts;
    const { tenant, streamId, operationId } = verification;
    try {
      const verdict = await this.#recompute(verification);
      verification.verdict = verdict;
      if (verdict.fault !== undefined) {
        telemetry.error('a stream does not verify', new Error(verdict.fault.message), { tenant, streamId });
      }
    } catch (error) {
      // Nobody will ask for it any more.
      if (this.#isStopping) return;
      verification.failureReason = 'The stream could not be read.';
      telemetry.error('a verification has failed', error, { operationId });
    }
    verification.completedAtMs = clock.now();
  }

  async #recompute(verification: Verification): Promise<RangeVerdict> {
    const { trees, signing } = this.#parts;
    const { tenant, streamId, fromIndex, endIndex, requiredSize } = verification;
    const wish = { tenant, streamId, fromIndex, endIndex, publicKeys: signing.publicKeys() };
    const verdict = await trees.checkRange(wish, (checkedEvents) => {
      if (this.#isStopping) throw stopping();
      verification.checkedEvents = checkedEvents;
    });
    if (verdict.fault !== undefined || verdict.treeSize >= requiredSize) return verdict;
    const index = Math.max(fromIndex, endIndex - requiredSize + verdict.treeSize);
    const message = `sequences ${index + 1} to ${endIndex} are under no checkpoint: nobody has signed them`;
    return { ...verdict, fault: { index, reason: 'KEY_UNKNOWN', message } };
  }

  #forgetOld(): void {
    const before = this.#parts.clock.now() - KEPT_MS;
    for (const verification of this.#all.values()) {
      const { completedAtMs } = verification;
      if (completedAtMs === undefined || completedAtMs >= before) return;
      this.#forget(verification);
    }
  }

  #forget(verification: Verification): void {
    const { operationId, tenant, key } = verification;
    this.#all.delete(operationId);
    const own = this.#ownOf(tenant);
    own.kept.delete(verification);
    if (key !== undefined && own.byKey.get(key.key) === verification) own.byKey.delete(key.key);
    if (own.kept.size === 0) this.#tenants.delete(tenant);
  }
}

function stopping(): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping.');
}
