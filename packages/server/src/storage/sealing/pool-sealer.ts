// Seals the contents of a pool, with keys that are stored and of which this process has a block of nonces. Keys that are missing
// are gathered while a pool is decided: it is rolled back then, the keys are made in a commit of their own
// (provide-keys.ts), and the pool is decided again. So no commit waits for a key but the first of a tenant and month.

import type { KeyObject } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { PooledDraft } from '../pool/append-message.ts';
import { BoxMaker, type BoxPlace, Nonces, type NonceShare } from './boxes.ts';
import { type BoxesAhead, boxAhead } from './boxes-ahead.ts';

/** A key for new content. */
export interface ContentKey {
  readonly tenant: TenantId;
  readonly keyId: string;
  readonly month: number;
  /** An object: bytes would be imported anew for each event, which costs more than the sealing. */
  readonly key: KeyObject;
  /** Of nonces, for this process alone. */
  readonly block: number;
}

export interface MissingKey {
  readonly tenant: TenantId;
  readonly month: number;
}

export type SealedContent =
  /** The box lies in memory that is used for the next one: copy what is kept. */
  | { readonly keyId: string; readonly box: Uint8Array }
  /** The pool must not be stored. */
  | { readonly missing: MissingKey };

/** The pool cannot be stored before these are made. */
export class MissingKeys extends Error {
  /** The months of each tenant. */
  readonly months: ReadonlyMap<TenantId, ReadonlySet<number>>;

  constructor(keys: readonly MissingKey[]) {
    const months = new Map<TenantId, Set<number>>();
    for (const { tenant, month } of keys) months.set(tenant, (months.get(tenant) ?? new Set()).add(month));
    super(`there are no keys yet for ${[...months.keys()].join()}`);
    this.months = months;
  }
}

interface HeldKey extends ContentKey {
  readonly nonces: Nonces;
  /** Given to the thread that seals ahead. */
  isHandedOn: boolean;
}

/** The boxes that were made ahead for a pool, and the row of a draft in it. */
export interface RowAhead {
  readonly boxes: BoxesAhead;
  readonly row: number;
}

const HELD_MAX = 100_000;

export interface PoolSealerOptions {
  /** What this thread may take of each block. */
  readonly nonces?: NonceShare | undefined;
  /** Gives a key to the thread that seals ahead: once for each block, of which that thread takes the second half. */
  readonly handOn?: ((key: ContentKey) => void) | undefined;
}

export class PoolSealer {
  /** By bits of the classifications. */
  readonly #sealed: number;
  readonly #options: PoolSealerOptions;
  readonly #boxes = new BoxMaker();
  /** The keys that take new content. */
  readonly #current = new Map<TenantId, Map<number, HeldKey>>();
  /** All keys with what is left of their blocks, by id: one that is confirmed again goes on where it was. */
  readonly #held = new Map<string, HeldKey>();

  constructor(sealed: number, options: PoolSealerOptions = {}) {
    this.#sealed = sealed;
    this.#options = options;
  }

  /** Undefined for content that is stored in the clear. Notices always are. */
  seal(
    place: BoxPlace,
    { kind, classification, texts }: PooledDraft,
    month: number,
    seeds: Uint8Array,
    ahead?: RowAhead,
  ): SealedContent | undefined {
    if (kind !== KINDS.event || ((this.#sealed >> classification) & 1) === 0) return undefined;
    const { tenant } = place;
    const held = this.#current.get(tenant)?.get(month);
    if (held === undefined) return { missing: { tenant, month } };
    const { keyId } = held;
    if (ahead !== undefined) {
      const box = boxAhead(ahead.boxes, ahead.row, keyId);
      if (box !== undefined) return { keyId, box };
      this.#handOn(held);
    }
    const content = { text1: texts[0], text2: texts[1], seeds, closed: undefined };
    return { keyId, box: this.#boxes.make(content, place, held.key, held.nonces) };
  }

  /** Whether this process has a block of its nonces. */
  holds(keyId: string): boolean {
    return this.#held.has(keyId);
  }

  /** The key takes new content from now on; without a block for one that is held. */
  use(key: Omit<ContentKey, 'block'> & { readonly block: number | undefined }): void {
    let held = this.#held.get(key.keyId);
    if (held === undefined) {
      const { block } = key;
      if (block === undefined) throw new Error(`the key ${key.keyId} has no block of nonces`);
      if (this.#held.size >= HELD_MAX) this.#forgetAll();
      held = { ...key, block, nonces: new Nonces(block, this.#options.nonces), isHandedOn: false };
      this.#held.set(key.keyId, held);
    }
    const own = this.#current.get(key.tenant) ?? new Map<number, HeldKey>();
    this.#current.set(key.tenant, own.set(key.month, held));
  }

  /** Of these tenants, the ids of the keys that take new content as far as this process knows. */
  current(tenants: readonly TenantId[]): { readonly tenant: TenantId; readonly keyId: string }[] {
    return tenants.flatMap((tenant) =>
      [...(this.#current.get(tenant)?.values() ?? [])].map(({ keyId }) => ({ tenant, keyId })),
    );
  }

  /** The other keys of these tenants take no new content any more. */
  keepOnly(tenants: readonly TenantId[], keyIds: ReadonlySet<string>): void {
    for (const tenant of tenants) {
      const own = this.#current.get(tenant);
      for (const [month, { keyId }] of own ?? []) if (!keyIds.has(keyId)) own!.delete(month);
    }
  }

  /** The database may have changed: which keys take new content is read again. */
  forget(): void {
    this.#current.clear();
  }

  #handOn(held: HeldKey): void {
    if (held.isHandedOn) return;
    held.isHandedOn = true;
    const { tenant, keyId, month, key, block } = held;
    this.#options.handOn?.({ tenant, keyId, month, key, block });
  }

  #forgetAll(): void {
    this.#current.clear();
    this.#held.clear();
  }
}
