// tallystick verify on a data directory, or on a database: everything that the service has stored, whether it runs or not.
// The service's package is loaded only here, so that bundles and proofs are verified without it.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import type { ConfigFileOption } from './config-file-option.ts';
import { reportedProgress, type ReportedProgress } from './progress.ts';
import type { Config, Server } from './run-with-settings.ts';
import { reportStore, type StoreVerdict } from './store-report.ts';
import { keysIn, parsedKey, readText, type TrustOptions } from './trust-options.ts';
import type { Report } from './verify-report.ts';

export interface StoreOptions extends TrustOptions, ConfigFileOption {
  readonly tenant?: string;
  readonly anchor?: string;
  readonly verbose?: true;
}

/** What only bundles and proofs have. */
const OF_FILES = ['witness', 'witnessesMin', 'nothingWithheld', 'filter', 'consistency'] as const;

/** Where events are kept: in a directory, or in a database with the directory of its keys and its anchor beside it. */
type Place =
  | { readonly directory: string }
  | {
      readonly url: string;
      readonly setting: string;
      readonly directory: string | undefined;
      readonly anchor: string | undefined;
    };

/** `where` is a data directory, or the URL of a database. */
export async function verifyStore(
  where: string,
  options: StoreOptions,
): Promise<{ readonly isVerified: boolean; readonly report: Report }> {
  const stranger = OF_FILES.find((name) => options[name] !== undefined);
  if (stranger !== undefined) {
    const option = stranger.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const what = isDatabase(where) ? 'this is a database' : `${where} is a directory`;
    throw new CannotRun(`--${option} is for bundles and proofs; ${what}`);
  }
  const keys = (options.key ?? []).flatMap(keysIn);
  for (const key of keys) parsedKey(key);
  const seen = options.since === undefined ? [] : [readText(options.since)];
  const server = await import('@tallystick/server');
  const place = placeOf(where, options, server);
  // One that was named and is not there is a slip; one that should be there and is not is a verdict.
  const { anchor } = options;
  if (anchor !== undefined && !(await server.hasAnchor(anchor)))
    throw new CannotRun(`--anchor: there is no anchor at ${anchor}`);
  const wish = { keys, seen, tenant: options.tenant };
  try {
    const verdict =
      'url' in place
        ? await verifyDatabase(place, wish, server)
        : await verifyDirectory(place.directory, { ...wish, anchor: options.anchor }, server);
    const shown = 'url' in place ? withoutCredentials(place.url) : place.directory;
    const isKeyless = keys.length === 0 && !hasKeys(place.directory);
    if (isKeyless && !verdict.verified && verdict.faults.every(({ reason }) => reason === 'KEY_UNKNOWN')) {
      throw new CannotRun(
        `${place.directory} has no signing-keys, so nothing in it tells who signed: give the log's public key by --key`,
      );
    }
    const kind = 'url' in place ? ('Database' as const) : ('Directory' as const);
    return {
      isVerified: verdict.verified,
      report: reportStore({ kind, shown, isKeyless, isVerbose: options.verbose === true }, verdict),
    };
  } catch (error) {
    throw error instanceof server.StartError ? new CannotRun(error.message) : error;
  }
}

interface Wish {
  readonly keys: readonly string[];
  readonly seen: readonly string[];
  readonly tenant: string | undefined;
  readonly anchor?: string | undefined;
}

async function verifyDirectory(directory: string, wish: Wish, server: Server): Promise<StoreVerdict> {
  using progress = reportedProgress(`verifying ${directory}`, 'entries');
  return await server.checkStore(directory, { ...wish, onProgress: shownBy(progress) });
}

async function verifyDatabase(
  { url, setting, directory, anchor }: Extract<Place, { readonly url: string }>,
  wish: Wish,
  server: Server,
): Promise<StoreVerdict> {
  using progress = reportedProgress(`verifying ${withoutCredentials(url)}`, 'entries');
  const onProgress = shownBy(progress);
  return await server.checkDatabase(url, { ...wish, directory, anchor, setting, onProgress });
}

function shownBy(progress: ReportedProgress) {
  return ({ entries, entriesTotal }: { readonly entries: number; readonly entriesTotal: number }): void =>
    progress.show(entries, entriesTotal);
}

/** Throws CannotRun where there is nothing to verify, or nothing to verify it by. */
function placeOf(where: string, options: StoreOptions, server: Server): Place {
  if (isDatabase(where)) {
    if (options.key === undefined || options.anchor === undefined)
      throw new CannotRun(
        'a database is verified by --key and --anchor, or with its data directory: set Storage__Url and name that directory',
      );
    if (!URL.canParse(where)) throw new CannotRun('that is no URL of a database');
    return { url: where, setting: 'the command line', directory: undefined, anchor: options.anchor };
  }
  const hasJournal = server.isStore(where);
  const settings = settingsOr(hasJournal, options, server);
  const database = settings && server.verifyingUrl(settings.storage);
  // A directory whose events were moved to a database may still have those that it had before.
  const isOwn = settings !== undefined && resolve(settings.storage.dataDirectory) === resolve(where);
  if (database !== undefined && (isOwn || !hasJournal)) {
    const anchor = options.anchor ?? settings?.log.anchor;
    return { ...database, directory: where, anchor };
  }
  if (hasJournal) return { directory: where };
  throw new CannotRun(
    `${where} is a directory without data; give the data directory of a service, with Storage__Url set if it has a database`,
  );
}

/** Settings that are wrong are no matter of a directory that has its events itself. */
function settingsOr(hasJournal: boolean, { config }: StoreOptions, server: Server): Config | undefined {
  try {
    return server.loadSettings({ configFile: config }).config;
  } catch (error) {
    if (!(error instanceof server.ConfigError)) throw error;
    if (hasJournal) return undefined;
    throw new CannotRun(error.problems.join('; '));
  }
}

export function isDatabase(where: string): boolean {
  return /^postgres(ql)?:\/\//i.test(where);
}

/** As it is shown: others may read it. */
export function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return 'postgres://…';
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}

function hasKeys(directory: string | undefined): boolean {
  return directory !== undefined && isThere(join(directory, 'signing-keys'));
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Refuses what belongs to stored data alone, for whoever verifies something else. */
export function refuseStoreOptions({ anchor, verbose, config }: StoreOptions): void {
  if (verbose) throw new CannotRun('--verbose is for a data directory or a database');
  if (anchor !== undefined) throw new CannotRun('--anchor is for a data directory or a database');
  if (config !== undefined) throw new CannotRun('--config is for a data directory');
}
