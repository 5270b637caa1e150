// What vectors are made from: two logs, one untouched, one of which something was deleted; and the signature of a manifest.

import {
  closeUnits,
  decodeEntry,
  formatManifest,
  KINDS,
  manifestText,
  showRoots,
  signatureLine,
  type Signer,
  subtreeHashes,
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import { sampleEvent, SampleLog } from '../packages/evidence/src/testing/sample-log.ts';

export const LOG_SIZE = 20;
const PURGED = { begin: 2, end: 6 };
const REDACTED_INDEX = 8;
const REDACTED_TAG = toBase64(tagOf('/payload/note').bytes);

export async function sampleLog(): Promise<SampleLog> {
  const log = await SampleLog.create();
  for (let n = 0; n < LOG_SIZE; n++) log.append(sampleEvent(n));
  return log;
}

/** A log of which events 2 to 5 were purged and one unit of event 8 redacted, each under its notice. */
export async function logWithDeletions(): Promise<SampleLog> {
  const log = await SampleLog.create();
  for (let n = 0; n < 10; n++) log.append(sampleEvent(n));
  log.notice(KINDS.purge, {
    policyId: '01KE0000000000000000000001',
    policyVersion: 3,
    cause: 'Retention',
    ranges: [[PURGED.begin, PURGED.end]],
    count: PURGED.end - PURGED.begin,
    subtrees: subtreeHashes(PURGED, log.read).map(toBase64),
  });
  const { eventId } = decodeEntry(log.entries[REDACTED_INDEX]!.entry);
  log.notice(KINDS.redaction, {
    leafIndex: REDACTED_INDEX,
    eventId,
    tags: [REDACTED_TAG],
    cause: 'Redaction',
  });
  log.append(sampleEvent(12));
  return log;
}

/** The lines of a bundle of that log, with what is gone marked as deleted. */
export function linesWithDeletions(log: SampleLog, from = 0, to = log.size) {
  return log.entries.slice(from, to).map(({ entry, shown }, i) => {
    const index = from + i;
    if (index >= PURGED.begin && index < PURGED.end)
      return { entry, shown: showRoots(shown), deleted: true as const };
    if (index !== REDACTED_INDEX) return { entry, shown };
    return { entry, shown: closeUnits(shown, (path) => path === '/payload/note'), deleted: [REDACTED_TAG] };
  });
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The manifest of an export, with its signature. */
export async function signedManifest(
  manifest: Readonly<Record<string, unknown>>,
  { name, keyId, sign }: Signer,
): Promise<string> {
  const signature = await sign(manifestText(manifest));
  return formatManifest(manifest, [signatureLine({ name, keyId, signature }).trimEnd()]);
}
