// Makes a log of three events in memory, signs its checkpoint, and proves the second event to somebody who may
// not see its payload. The proof verifies all the same, and shows the action but not the amount.

import {
  byTag,
  CompactRange,
  ContentPool,
  encodeEntry,
  formatEventProof,
  genesisHash,
  groupOf,
  leafHash,
  noteSigner,
  noteVerifier,
  type OpenUnit,
  parseEventProof,
  proveInclusion,
  type ShownEvent,
  signCheckpoint,
  tagOf,
  unitsOf,
  verifyEventProof,
} from '@tallystick/evidence';

const origin = 'audit.example.com/t/acme';
const signer = await noteSigner(origin, crypto.getRandomValues(new Uint8Array(32)));

// 1. Events become leaves, each naming the one before.
const nodes = new Map<string, Uint8Array>();
const tree = new CompactRange();
const log: { entry: Uint8Array; shown: ShownEvent; payloadRoot: Uint8Array }[] = [];
let previous = genesisHash(origin);
for (const amount of [10, 20, 30]) {
  const shown = open({
    action: 'Pay.Invoice',
    actor: { actorType: 'User', userId: 'u-1' },
    payload: { amount },
  });
  const pool = new ContentPool();
  pool.add(shown);
  pool.run();
  const eventId = `01KE000000000000000000000${log.length}`;
  const content = pool.content(0);
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
  log.push({ entry, shown, payloadRoot: pool.groupRoot(0, 2) });
}

// 2. The log signs its size and root.
const checkpoint = await signCheckpoint({ origin, size: tree.size, root: tree.root() }, [signer]);

// 3. A proof of the second event, its payload withheld.
const { entry, shown, payloadRoot } = log[1]!;
const hashes = proveInclusion(1, tree.size, (level, index) => nodes.get(`${level}/${index}`)!);
const proof = formatEventProof({ entry, shown: [shown[0], { root: payloadRoot }], hashes, checkpoint });

// 4. Somebody else, who has only the proof and the public key.
const verdict = await verifyEventProof(parseEventProof(proof), {
  verifiers: [await noteVerifier(signer.verifierKey)],
});
process.stdout.write(`verified: event ${verdict.entry.eventId}, shown: ${JSON.stringify(verdict.event)}\n`);

function open(event: Record<string, unknown>): ShownEvent {
  const groups: [OpenUnit[], OpenUnit[]] = [[], []];
  for (const { path, value } of unitsOf(event)) {
    const salt = crypto.getRandomValues(new Uint8Array(16));
    groups[groupOf(path) - 1]!.push({ tag: tagOf(path), path, value, salt });
  }
  return [{ units: byTag(groups[0]) }, { units: byTag(groups[1]) }];
}
