// Makes a log of three events in memory, signs its checkpoint, and proves the second event to somebody who may
// not see its payload. The proof verifies all the same, and shows the action but not the amount.

import {
  CompactRange,
  contentOf,
  encodeEntry,
  formatEventProof,
  genesisHash,
  leafHash,
  noteSigner,
  noteVerifier,
  openEvent,
  parseEventProof,
  proveInclusion,
  type ShownEvent,
  signCheckpoint,
  verifyEventProof,
  withholdContent,
} from '@tallystick/evidence';

const origin = 'audit.example.com/t/acme';
const signer = await noteSigner(origin, crypto.getRandomValues(new Uint8Array(32)));

// 1. Events become leaves, each naming the one before.
const nodes = new Map<string, Uint8Array>();
const tree = new CompactRange();
const log: { entry: Uint8Array; shown: ShownEvent }[] = [];
let previous = genesisHash(origin);
for (const amount of [10, 20, 30]) {
  const event = { action: 'Pay.Invoice', actor: { actorType: 'User', userId: 'u-1' }, payload: { amount } };
  const shown = openEvent(event, () => crypto.getRandomValues(new Uint8Array(16)));
  const eventId = `01KE000000000000000000000${log.length}`;
  const content = contentOf(shown);
  const entry = encodeEntry({
    kind: 1,
    index: log.length,
    receivedAtMs: Date.now(),
    eventId,
    previous,
    content,
  });
  previous = leafHash(entry);
  tree.append(previous, (level, index, hash) => nodes.set(`${level}/${index}`, hash));
  log.push({ entry, shown });
}

// 2. The log signs its size and root.
const checkpoint = await signCheckpoint({ origin, size: tree.size, root: tree.root() }, [signer]);

// 3. A proof of the second event, its payload withheld.
const { entry, shown } = log[1]!;
const hashes = proveInclusion(1, tree.size, (level, index) => nodes.get(`${level}/${index}`)!);
const proof = formatEventProof({ entry, shown: withholdContent(shown), hashes, checkpoint });

// 4. Somebody else, who has only the proof and the public key.
const verdict = await verifyEventProof(parseEventProof(proof), {
  verifiers: [await noteVerifier(signer.verifierKey)],
});
process.stdout.write(`verified: event ${verdict.entry.eventId}, shown: ${JSON.stringify(verdict.event)}\n`);
