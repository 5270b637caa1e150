// The key of an export's file, drawn for it alone and kept in its record as a box; and what is signed with a key that is derived from
// it: the links by which the file is downloaded without a credential. So no key opens more than one file. Once the export is deleted its
// record keeps the derived key alone: a link that was given still says that it is of nothing, and one that was altered that it was.

import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { canonicalJson, fromBase64, toBase64 } from '@tallystick/evidence';
import { ClosedBox, type SecretBoxes } from '../keys/secret-box.ts';
import type { Random } from '../runtime/random.ts';
import { EXPORT_KIND, type ExportRecord, type RemovedFile } from './export.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

type Owner = Pick<ExportRecord, 'tenantId' | 'exportId'>;

export interface ExportKeys {
  /** A new one, in a box. */
  make(owner: Owner): Promise<string>;
  /** Throws ClosedBox. */
  open(record: Owner & Pick<ExportRecord, 'fileKey'>): Promise<Uint8Array>;
  /** What judges the links of its file; undefined: none were given. Throws ClosedBox. */
  openLinks(
    record: Owner & Pick<ExportRecord, 'fileKey' | 'completed' | 'removed'>,
  ): Promise<Links | undefined>;
  /** For the record of one that is deleted; undefined: none were given, or the key does not open. */
  keepLinks(record: Owner & Pick<ExportRecord, 'fileKey' | 'completed'>): Promise<RemovedFile | undefined>;
}

export interface Links {
  readonly runId: string;
  readonly linkKey: Buffer;
}

/** What a link grants: this file, until then. */
export interface Link extends Owner {
  readonly runId: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** Of AES-256. */
const FILE_KEY_BYTES = 32;
const PURPOSE = 'file key';
const LINKS_PURPOSE = 'link key';
const LINK_LABEL = 'tallystick download link';
const LINK_KEY_BYTES = 32;

export function createExportKeys(boxes: SecretBoxes, random: Random): ExportKeys {
  const placeOf = ({ tenantId: tenant, exportId: id }: Owner, purpose = PURPOSE) =>
    ({ tenant, kind: EXPORT_KIND, id, purpose }) as const;
  const open = async (record: Parameters<ExportKeys['open']>[0]) =>
    fromBase64(await boxes.open(record.fileKey, placeOf(record)));
  return {
    make: (owner) => boxes.seal(toBase64(random.bytes(FILE_KEY_BYTES)), placeOf(owner)),
    open,
    async openLinks(record) {
      const { completed, removed } = record;
      if (completed !== undefined) return { runId: completed.runId, linkKey: linkKeyOf(await open(record)) };
      if (removed === undefined) return undefined;
      const linkKey = await boxes.open(removed.linkKey, placeOf(record, LINKS_PURPOSE));
      return { runId: removed.runId, linkKey: Buffer.from(fromBase64(linkKey)) };
    },
    async keepLinks(record) {
      if (record.completed === undefined) return undefined;
      try {
        const linkKey = toBase64(linkKeyOf(await open(record)));
        const box = await boxes.seal(linkKey, placeOf(record, LINKS_PURPOSE));
        return { runId: record.completed.runId, linkKey: box };
      } catch (error) {
        // What cannot be opened can be deleted all the same.
        if (error instanceof ClosedBox) return undefined;
        throw error;
      }
    },
  };
}

export function signLink(link: Link, fileKey: Uint8Array): string {
  return macOf(link, linkKeyOf(fileKey)).toString('base64url');
}

/** Without the key of a file nothing is signed, which takes as long to find out. */
export function isSigned(link: Link, signature: string, linkKey: Buffer | undefined): boolean {
  const given = Buffer.from(signature, 'base64url');
  const mac = macOf(link, linkKey ?? Buffer.alloc(LINK_KEY_BYTES));
  if (linkKey === undefined) return false;
  // Another spelling of the same bytes is no signature of ours.
  return (
    given.length === mac.length && timingSafeEqual(given, mac) && given.toString('base64url') === signature
  );
}

function linkKeyOf(fileKey: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', fileKey, '', LINK_LABEL, LINK_KEY_BYTES));
}

function macOf({ tenantId, exportId, runId, expires }: Link, linkKey: Buffer): Buffer {
  return hmacSha256(linkKey, canonicalJson([tenantId, exportId, runId, expires]));
}
