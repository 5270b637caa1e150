// Verifies a bundle with nothing but the log's public key, as an auditor's own program would.
//   npx node --conditions=source examples/verify-bundle.ts vectors/valid/whole-log.jsonl vectors/valid/log.key

import { createReadStream, readFileSync } from 'node:fs';
import { EvidenceError, noteVerifier, verifyBundle } from '@tallystick/evidence';

const [bundlePath = 'vectors/valid/whole-log.jsonl', keyPath = 'vectors/valid/log.key'] =
  process.argv.slice(2);
const verifier = await noteVerifier(readFileSync(keyPath, 'utf8').trim());

try {
  const verdict = await verifyBundle(createReadStream(bundlePath), { verifiers: [verifier] });
  process.stdout.write(`verified: ${verdict.entries} entries of ${verdict.origin}, ${verdict.open} open\n`);
} catch (error) {
  if (!(error instanceof EvidenceError)) throw error;
  process.stdout.write(`refused: ${error.reason} at index ${error.index ?? '-'}: ${error.message}\n`);
  process.exitCode = 1;
}
