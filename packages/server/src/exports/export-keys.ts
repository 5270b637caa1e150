// The key of an export's file, drawn for it alone and kept in its record as a box; and what is signed with it: the links by which the
// file is downloaded without a credential. So a link ends with its export, and no key opens more than one of them.

import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { canonicalJson, fromBase64, toBase64 } from '@tallystick/evidence';
import type { SecretBoxes } from '../keys/secret-box.ts';
import type { Random } from '../runtime/random.ts';
import { EXPORT_KIND, type ExportRecord } from './export.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

type Owner = Pick<ExportRecord, 'tenantId' | 'exportId'>;

export interface ExportKeys {
  /** A new one, in a box. */
  make(owner: Owner): Promise<string>;
  /** Throws ClosedBox. */
  open(record: Owner & Pick<ExportRecord, 'fileKey'>): Promise<Uint8Array>;
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
const LINK_LABEL = 'tallystick download link';
const LINK_KEY_BYTES = 32;

export function createExportKeys(boxes: SecretBoxes, random: Random): ExportKeys {
  const placeOf = ({ tenantId: tenant, exportId: id }: Owner) =>
    ({ tenant, kind: EXPORT_KIND, id, purpose: PURPOSE }) as const;
  return {
    make: (owner) => boxes.seal(toBase64(random.bytes(FILE_KEY_BYTES)), placeOf(owner)),
    open: async (record) => fromBase64(await boxes.open(record.fileKey, placeOf(record))),
  };
}

export function signLink(link: Link, fileKey: Uint8Array): string {
  return macOf(link, fileKey).toString('base64url');
}

export function isSigned(link: Link, signature: string, fileKey: Uint8Array): boolean {
  const given = Buffer.from(signature, 'base64url');
  const mac = macOf(link, fileKey);
  // Another spelling of the same bytes is no signature of ours.
  return (
    given.length === mac.length && timingSafeEqual(given, mac) && given.toString('base64url') === signature
  );
}

function macOf({ tenantId, exportId, runId, expires }: Link, fileKey: Uint8Array): Buffer {
  const key = Buffer.from(hkdfSync('sha256', fileKey, '', LINK_LABEL, LINK_KEY_BYTES));
  return hmacSha256(key, canonicalJson([tenantId, exportId, runId, expires]));
}
