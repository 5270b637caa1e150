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

interface KnownHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

export class Proofs {
  readonly #proofs: { readonly eventId: string; readonly text: string }[] = [];
  /** By their texts: of all logs and all keys that there ever were. */
  readonly #verifiers = new Map<string, Verifier>();
  #head: KnownHead | undefined;

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
      // Who may see its tombstone may see its proof.
      assert.equal(status, 200, JSON.stringify(body));
      const [now, before] = [body, JSON.parse(text)] as { leafIndex: number; entry: string }[];
      assert.deepEqual([now!.leafIndex, now!.entry], [before!.leafIndex, before!.entry], eventId);
    }
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
