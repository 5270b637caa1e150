// The files of the verifier: those of evidence that a verdict depends on. Code that only writes – a bundle, an entry,
// tiles – is checked by the verifier itself, and stays out.

const ROOMS = /^(bundle|tree|note|event)\//;
/** Of another room: its yes to a value is the last word. */
const ALSO = new Set(['json/plain-scan.ts']);
const WRITERS = new Set([
  'bundle/bundle-writer.ts',
  'event/entry-bytes.ts',
  'event/event-id-bytes.ts',
  'event/encode-event.ts',
  'event/encode-notice.ts',
  'event/key-cache.ts',
  'event/show-event.ts',
  'event/split-group.ts',
  'note/signer.ts',
  'tree/entry-bundle.ts',
  'tree/prove.ts',
  'tree/tile-reader.ts',
]);

export function isVerifier(path: string): boolean {
  return (ROOMS.test(path) || ALSO.has(path)) && !path.endsWith('.test.ts') && !WRITERS.has(path);
}
