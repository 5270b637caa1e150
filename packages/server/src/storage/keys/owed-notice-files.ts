// The logs that still lack the notice of a signing key rotation, in files beside the keys: `<id of the notice>.owed`, and
// `.owed-2`, … for a repeated announcement. A file is added complete before the new key counts, and removed when all of its
// logs have their notice. One line of JSON; times as in the key records:
//
//   {"fingerprint":<of the new key>,"previousSignsUntil":<time>,"noticeId":<ULID>,"tenants":[<id>, …]}

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { OwedNotices } from '../../keys/owed-notices.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import { loadSigningKeys, type PlannedRotation, SIGNING_KEYS_FOLDER } from './signing-key-files.ts';
import { addFile, codeOf, syncFolder } from '../files/whole-file.ts';

const FILE_NAME = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.owed(?:-\d+)?$/;

interface Owed {
  readonly fingerprint: string;
  readonly previousSignsUntil: string;
  readonly noticeId: string;
  readonly tenants: readonly TenantId[];
}

/** Must be called before the rotation counts, and for notices that are found missing after it. */
export async function addOwedNotices(
  directory: string,
  { next, overlapEndsAtMs, noticeId }: Pick<PlannedRotation, 'next' | 'overlapEndsAtMs' | 'noticeId'>,
  tenants: readonly TenantId[],
): Promise<void> {
  if (tenants.length === 0) return;
  const owed: Owed = {
    fingerprint: next.fingerprint,
    previousSignsUntil: new Date(overlapEndsAtMs).toISOString(),
    noticeId,
    tenants,
  };
  const path = join(directory, SIGNING_KEYS_FOLDER, `${noticeId}.owed`);
  const text = `${JSON.stringify(owed)}\n`;
  for (let attempt = 1; !(await addFile(attempt === 1 ? path : `${path}-${attempt}`, text)); attempt++);
}

/**
 * Notices of rotations that count. Those of a plan that was replaced by another are removed: the other one informs all
 * logs again.
 */
export async function readOwedNotices(directory: string): Promise<OwedNotices[]> {
  const folder = join(directory, SIGNING_KEYS_FOLDER);
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name));
  const keys = names.length === 0 ? undefined : await loadSigningKeys(directory);
  if (keys === undefined) return [];
  const found: OwedNotices[] = [];
  for (const name of names.toSorted()) {
    const path = join(folder, name);
    const owed = await readOwed(path);
    const at = keys.findIndex(({ fingerprint }) => fingerprint === owed?.fingerprint);
    // It does not count yet, or the file has just been removed.
    if (owed === undefined || at === -1) continue;
    const settle = () => remove(folder, path);
    const rotation = rotationOf(owed, keys, at);
    if (rotation === undefined) await settle();
    else found.push({ rotation, tenants: owed.tenants, settle });
  }
  return found;
}

function rotationOf(owed: Owed, keys: SigningKeys, at: number): OwedNotices['rotation'] | undefined {
  const [next, previous] = [keys[at], keys[at + 1]];
  const overlapEndsAtMs = Date.parse(owed.previousSignsUntil);
  if (next === undefined || previous?.signsUntilMs !== overlapEndsAtMs) return undefined;
  return { previous, next, overlapEndsAtMs, noticeId: owed.noticeId };
}

/** Undefined if it is missing. */
async function readOwed(path: string): Promise<Owed | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  const value: Readonly<Record<string, unknown>> = { ...(parseJson(text) as object) };
  const { fingerprint, previousSignsUntil, noticeId, tenants } = value;
  if (
    typeof fingerprint !== 'string' ||
    typeof previousSignsUntil !== 'string' ||
    typeof noticeId !== 'string' ||
    !Array.isArray(tenants) ||
    !tenants.every((tenant) => typeof tenant === 'string')
  ) {
    throw new Error(`${path} does not say which logs are owed a notice`);
  }
  return { fingerprint, previousSignsUntil, noticeId, tenants };
}

async function remove(folder: string, path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolder(folder);
}
