// The proof of one event: what is shown of it, its inclusion proof and the signed checkpoint, as a JSON text
//
//   { "eventId", "leafIndex", "treeSize", "entry", "open": [[path, salt, value]…], "closed": [[T, C]…],
//     "groups": [R₁|null, R₂|null], "hashes": […], "checkpoint" }            bytes in base64
//
// or as c2sp.org/tlog-proof@v1 text, whose `extra` is the event's line in a bundle. Both say the same.

import { formatEntryLine } from './bundle-writer.ts';
import { hashesFrom, parseEntryLine } from './bundle-line.ts';
import { equalBytes, fromBase64, textOf, toBase64, toHex, utf8 } from '../bytes.ts';
import { type Checkpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { contentOf } from '../event/content.ts';
import { decodeEntry, type Entry, genesisHash, isNotice, KINDS, requireContent } from '../event/entry.ts';
import { EvidenceError } from '../errors.ts';
import type { Notice } from '../event/notices.ts';
import { parseNote } from '../note/note.ts';
import { isWhollyOpen, openUnits, type ShownEvent, shownFrom } from '../event/shown-event.ts';
import { listsOf } from '../event/show-event.ts';
import { parseJson } from '../json/parse-json.ts';
import { scanJson } from '../json/strict-json.ts';
import { formatTlogProof, parseTlogProof, TLOG_PROOF_HEADER } from '../note/tlog-proof.ts';
import { leafHash } from '../tree/tree.ts';
import { verifyInclusion } from '../tree/verify-inclusion.ts';
import { epochBeginning } from './epoch.ts';
import { readNoticeAndKeys } from './notice-keys.ts';
import { openTrustedCheckpoint, seenBefore, type SeenBefore, type Trust, verifyExtends } from './trust.ts';
import { eventOf } from '../event/units.ts';

export interface EventProof {
  entry: Uint8Array;
  shown: ShownEvent;
  hashes: readonly Uint8Array[];
  /** A signed note. */
  checkpoint: string;
}

export interface EventVerdict extends SeenBefore {
  origin: string;
  entry: Entry;
  leaf: string;
  checkpoint: { size: number; root: string; cosignedBy: string[] };
  /** The event as far as it is shown. */
  event: Record<string, unknown>;
  whole: boolean;
}

export function formatEventProof(proof: EventProof): string {
  const { index, eventId } = decodeEntry(proof.entry);
  const { size } = checkpointIn(proof.checkpoint);
  return JSON.stringify({
    eventId,
    leafIndex: index,
    treeSize: size,
    entry: toBase64(proof.entry),
    ...listsOf(proof.shown),
    hashes: proof.hashes.map(toBase64),
    checkpoint: proof.checkpoint,
  });
}

export function formatEventProofText(proof: EventProof): string {
  const { entry, shown, hashes, checkpoint } = proof;
  const { index } = decodeEntry(entry);
  return formatTlogProof({ extra: utf8(formatEntryLine({ entry, shown })), index, hashes, checkpoint });
}

/** Reads either form. What the proof says is to be believed only after `verifyEventProof`. */
export function parseEventProof(text: string): EventProof {
  return text.startsWith(TLOG_PROOF_HEADER) ? parseTextForm(text) : parseJsonForm(text);
}

/** Throws unless the event, as far as it is shown, is in the log whose key is trusted. */
export async function verifyEventProof(proof: EventProof, trust: Trust): Promise<EventVerdict> {
  const { shown, hashes } = proof;
  const entry = decodeEntry(proof.entry);
  const { index } = entry;
  requireContent(entry, contentOf(shown));
  const notice = isNotice(entry.kind) ? readNoticeAndKeys(entry, shown) : undefined;
  const { origin } = checkpointIn(proof.checkpoint);
  if (index === 0) verifyBeginning(entry, notice, origin);
  const { checkpoint, cosignedBy } = await openTrustedCheckpoint(proof.checkpoint, origin, trust);
  const { size, root } = checkpoint;
  const leaf = leafHash(proof.entry);
  verifyInclusion({ leaf, index, size, proof: hashes, root });
  verifyExtends(trust, checkpoint, undefined);
  const whole = isWhollyOpen(shown);
  if (!whole && trust.allowWithheld === false) {
    throw new EvidenceError('GAP_UNEXPLAINED', `content of entry ${index} is withheld`, { index });
  }
  return {
    origin,
    entry,
    whole,
    leaf: toHex(leaf),
    checkpoint: { size, root: toHex(root), cosignedBy },
    event: eventOf(openUnits(shown)),
    ...seenBefore(trust, checkpoint),
  };
}

/** The chain begins with the name of the log or, after a restore, with the checkpoint that the first entry names. */
function verifyBeginning(entry: Entry, notice: Notice | undefined, origin: string): void {
  if (notice?.kind === KINDS.newEpoch) epochBeginning(entry, notice, origin);
  else if (!equalBytes(entry.previous, genesisHash(origin))) {
    throw new EvidenceError('CHAIN_BROKEN', 'the first entry does not name its log', { index: 0 });
  }
}

function parseTextForm(text: string): EventProof {
  const { extra, index, hashes, checkpoint } = parseTlogProof(text);
  if (extra === undefined) throw new EvidenceError('MALFORMED', 'the proof does not show its event');
  const { entry, shown, deleted, inclusion } = parseEntryLine(textOf(extra));
  if (deleted !== undefined || inclusion !== undefined) {
    throw new EvidenceError('MALFORMED', 'the event in the proof has members that only a bundle may have');
  }
  requireSame('index', index, decodeEntry(entry).index);
  return { entry, shown, hashes, checkpoint };
}

function parseJsonForm(text: string): EventProof {
  const { syntax, violations } = scanJson(utf8(text));
  if (syntax !== undefined || violations.length > 0) {
    const [{ path, issue } = { path: '', issue: '' }] = violations;
    const fault = syntax?.issue ?? `${path} ${issue}`;
    throw new EvidenceError('MALFORMED', `the proof is not JSON that means one thing: ${fault}`);
  }
  const value = parseJson(text);
  const members = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const { eventId, leafIndex, treeSize, entry, open, closed, groups, hashes, checkpoint } = members;
  if (typeof entry !== 'string' || typeof checkpoint !== 'string') {
    throw new EvidenceError('MALFORMED', 'the proof has no entry or no checkpoint');
  }
  const shown = shownFrom(open, closed, groups);
  const proof = { entry: fromBase64(entry), shown, hashes: hashesFrom(hashes), checkpoint };
  const decoded = decodeEntry(proof.entry);
  requireSame('eventId', eventId, decoded.eventId);
  requireSame('leafIndex', leafIndex, decoded.index);
  requireSame('treeSize', treeSize, checkpointIn(proof.checkpoint).size);
  return proof;
}

/** The proof says some things twice for its reader's sake; saying them differently is refused. */
function requireSame(what: string, said: unknown, found: unknown): void {
  if (said === found) return;
  throw new EvidenceError(
    'MALFORMED',
    `the proof says ${what} ${JSON.stringify(said)}; it is ${JSON.stringify(found)}`,
  );
}

function checkpointIn(note: string): Checkpoint {
  return parseCheckpoint(parseNote(note).text);
}
