// The proofs that a world of deletions has been given, and the newest checkpoint that it knows of each log: what a stranger has who
// trusts nobody.

import assert from 'node:assert/strict';
import {
  fromBase64,
  fromHex,
  noteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseEventProof,
  parseNote,
  type Verifier,
  verifyConsistency,
  verifyEventProof,
} from '@tallystick/evidence';
import type { Served } from './served.ts';

interface Consistency {
  readonly from: number;
  readonly to: number;
  readonly fromRootHash: string;
  readonly toRootHash: string;
  readonly hashes: readonly string[];
}

export interface KnownHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

export class Proofs {
  readonly #proofs: { readonly eventId: string; readonly text: string }[] = [];
  /** By their texts: of all logs and all keys that there ever were. */
  readonly #verifiers = new Map<string, Verifier>();
  #head: KnownHead | undefined;
  /** How much is surely signed of the logs that ended, in what is stored of them. */
  readonly #ended = new Map<string, number>();

  /** The newest checkpoint that was seen. */
  get head(): KnownHead | undefined {
    return this.#head;
  }

  /** The store is put back to a copy that was made after this checkpoint, and its log goes on under another name. */
  end({ origin, size }: KnownHead): void {
    this.#ended.set(origin, Math.min(size, this.#ended.get(origin) ?? size));
  }

  get count(): number {
    return this.#proofs.length;
  }

  keep(eventId: string, text: string): void {
    this.#proofs.push({ eventId, text });
  }

  /** The name of the log, as its key has it. */
  async learnKeys(served: Served): Promise<string> {
    const keys = (await served.text('/log/t/acme/key')).trim().split('\n');
    for (const key of keys) if (!this.#verifiers.has(key)) this.#verifiers.set(key, await noteVerifier(key));
    return this.#verifiers.get(keys[0]!)!.name;
  }

  /** That each proof holds, and that the log has only grown since the last look. */
  async verify(served: Served): Promise<void> {
    const verifiers = [...this.#verifiers.values()];
    for (const { text } of this.#proofs)
      await verifyEventProof(parseEventProof(text), { verifiers: ofLog(text, verifiers) });
    const note = await served.text('/log/t/acme/checkpoint');
    const { origin } = parseCheckpoint(parseNote(note).text);
    const ofOrigin = verifiers.filter(({ name }) => name === origin);
    const { size, root } = await openCheckpoint(note, { origin, verifiers: ofOrigin });
    const head = { origin, size, root };
    if (this.#head?.origin === origin && this.#head.size < head.size)
      await requireGrown(this.#head, head, served);
    else if (this.#head?.origin === origin) assert.deepEqual(head, this.#head);
    this.#head = head;
  }

  /** That what the log proves of these events now is what it has proven before. `isThere`: not lost with a restore. */
  async compare(served: Served, some: number, isThere: (eventId: string) => boolean): Promise<void> {
    for (const { eventId, text } of this.#proofs.slice(-some)) {
      if (!isThere(eventId)) continue;
      const path = `/api/v1/audit-events/${eventId}/proof`;
      const { status, body } = await served.ask({ method: 'GET', path });
      const [now, before] = [body, JSON.parse(text)] as { leafIndex: number; entry: string }[];
      if (status === 404 && this.#isUnsigned(text, before!.leafIndex)) {
        assert.match(JSON.stringify(body), /it was never signed under/);
        continue;
      }
      // Who may see its tombstone may see its proof.
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual([now!.leafIndex, now!.entry], [before!.leafIndex, before!.entry], eventId);
    }
  }

  /** The proof that was given holds, but the checkpoint that it is under may be newer than the copy. */
  #isUnsigned(text: string, leafIndex: number): boolean {
    const { checkpoint } = JSON.parse(text) as { readonly checkpoint: string };
    const signed = this.#ended.get(parseCheckpoint(parseNote(checkpoint).text).origin);
    return signed !== undefined && leafIndex >= signed;
  }
}

/** A verifier of another log is no fault, but says nothing. */
function ofLog(text: string, verifiers: readonly Verifier[]): Verifier[] {
  const { checkpoint } = JSON.parse(text) as { readonly checkpoint: string };
  const { origin } = parseCheckpoint(parseNote(checkpoint).text);
  return verifiers.filter(({ name }) => name === origin);
}

async function requireGrown(before: KnownHead, now: KnownHead, served: Served): Promise<void> {
  const path = `/api/v1/checkpoints/consistency?from=${before.size}&to=${now.size}`;
  const told = await served.done<Consistency>(200, { method: 'GET', path });
  assert.deepEqual([told.from, told.to], [before.size, now.size]);
  assert.deepEqual(fromHex(told.toRootHash), now.root);
  verifyConsistency({
    from: before.size,
    fromRoot: before.root,
    to: now.size,
    toRoot: now.root,
    proof: told.hashes.map((hash) => fromBase64(hash)),
  });
}
