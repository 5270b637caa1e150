// tallystick verify on a data directory: everything that the service has stored, whether it runs or not. The service's
// package is loaded only here, so that bundles and proofs are verified without it.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { startProgress } from './progress.ts';
import { reportStore, type StoreVerdict } from './store-report.ts';
import { keysIn, parsedKey, readText, type TrustOptions } from './trust-options.ts';
import type { Report } from './verify-report.ts';

export interface StoreOptions extends TrustOptions {
  readonly tenant?: string;
  readonly anchor?: string;
}

/** What only bundles and proofs have. */
const OF_FILES = ['witness', 'witnessesMin', 'nothingWithheld', 'filter', 'consistency'] as const;

export async function verifyStore(
  directory: string,
  options: StoreOptions,
): Promise<{ readonly isVerified: boolean; readonly report: Report }> {
  const stranger = OF_FILES.find((name) => options[name] !== undefined);
  if (stranger !== undefined) {
    const option = stranger.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new CannotRun(`--${option} is for bundles and proofs; ${directory} is a directory`);
  }
  const keys = (options.key ?? []).flatMap(keysIn);
  for (const key of keys) parsedKey(key);
  const seen = options.since === undefined ? [] : [readText(options.since)];
  const server = await import('@tallystick/server');
  if (!server.isStore(directory))
    throw new CannotRun(`${directory} is a directory without data; give the data directory of a service`);
  requireAnchor(options);
  const bytes = statSync(join(directory, 'journal.db')).size;
  const progress = startProgress(`verifying ${directory}`, bytes);
  let shown = 0;
  try {
    const verdict: StoreVerdict = await server.checkStore(directory, {
      keys,
      seen,
      tenant: options.tenant,
      anchor: options.anchor,
      onProgress({ entries, entriesTotal }) {
        const done = Math.floor((bytes * Math.min(entries, entriesTotal)) / entriesTotal);
        progress.add(done - shown);
        shown = done;
      },
    });
    const isKeyless = keys.length === 0 && !isThere(join(directory, 'signing-keys'));
    if (isKeyless && !verdict.verified && verdict.faults.every(({ reason }) => reason === 'KEY_UNKNOWN')) {
      throw new CannotRun(
        `${directory} has no signing-keys, so nothing in it tells who signed: give the log's public key by --key`,
      );
    }
    return { isVerified: verdict.verified, report: reportStore(directory, verdict, isKeyless) };
  } catch (error) {
    throw error instanceof server.StartError ? new CannotRun(error.message) : error;
  } finally {
    progress.end();
  }
}

/** One that was named and is not there is a slip; one that should be there and is not is a verdict. */
function requireAnchor({ anchor }: StoreOptions): void {
  if (anchor === undefined) return;
  const isDirectory = statSync(anchor, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere(isDirectory ? join(anchor, 'anchor') : anchor)) return;
  throw new CannotRun(`--anchor: there is no anchor at ${anchor}`);
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Refuses what belongs to a data directory alone, for whoever verifies something else. */
export function refuseStoreOptions({ anchor }: StoreOptions): void {
  if (anchor !== undefined) throw new CannotRun('--anchor is for a data directory');
}
