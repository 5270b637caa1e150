// tallystick verify on a data directory, or on a database: everything that the service has stored, whether it runs or not.
// The service's package is loaded only here, so that bundles and proofs are verified without it.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CannotRun } from '../cannot-run.ts';
import { givenOption } from '../given-option.ts';
import { startProgress } from '../output/progress.ts';
import { readText } from '../read-text.ts';
import type { Config, ConfigFileOption, Server } from '../data-command.ts';
import { reportStore, type StoreVerdict } from './store-report.ts';
import { keysIn, parsedKey, type TrustOptions } from './trust-options.ts';
import type { Report } from './verify-report.ts';

export interface StoreOptions extends TrustOptions, ConfigFileOption {
  readonly tenant?: string;
  readonly anchor?: string;
  readonly keyring?: string;
  readonly verbose?: true;
  readonly withoutIndex?: true;
}

/** What only bundles and proofs have. */
const OF_FILES = ['witness', 'witnessesMin', 'nothingWithheld', 'filter', 'consistency'] as const;

/** Where events are kept: in a directory, or in a database with the directory of its keys and its anchor beside it. */
interface Place {
  readonly directory: string | undefined;
  readonly database?: { readonly url: string; readonly setting: string };
  readonly anchor: string | undefined;
  /** Of the keyring; undefined: a file beside the data. */
  readonly keyring: ReturnType<Server['plainKeyring']> | undefined;
}

/** `where` is a data directory, or the URL of a database. */
export async function verifyStore(
  where: string,
  options: StoreOptions,
): Promise<{ readonly isVerified: boolean; readonly report: Report }> {
  const stranger = givenOption(options, OF_FILES);
  if (stranger !== undefined) {
    const what = isDatabase(where) ? 'this is a database' : `${where} is a directory`;
    throw new CannotRun(`${stranger} is for bundles and proofs; ${what}`);
  }
  const keys = (options.key ?? []).flatMap(keysIn);
  for (const key of keys) parsedKey(key);
  const seen = options.since === undefined ? [] : [readText(options.since)];
  const server = await import('@tallystick/server');
  const place = placeOf(where, options, server);
  // One that was named and is not there is a slip; one that should be there and is not is a verdict.
  if (options.anchor !== undefined && !(await server.hasAnchor(options.anchor)))
    throw new CannotRun(`--anchor: there is no anchor at ${options.anchor}`);
  const { directory, database } = place;
  const shown = database === undefined ? where : withoutCredentials(database.url);
  try {
    const verdict = await verified(
      shown,
      { ...place, keys, seen, tenant: options.tenant, isWithoutIndex: options.withoutIndex ?? false },
      server,
    );
    const isKeyless = keys.length === 0 && !hasKeys(directory);
    if (isKeyless && !verdict.verified && verdict.faults.every(({ reason }) => reason === 'KEY_UNKNOWN')) {
      throw new CannotRun(
        `${directory} has no signing-keys, so nothing in it tells who signed: give the log's public key by --key`,
      );
    }
    const kind = database === undefined ? ('Directory' as const) : ('Database' as const);
    return {
      isVerified: verdict.verified,
      report: reportStore({ kind, shown, isKeyless, isVerbose: options.verbose === true }, verdict),
    };
  } catch (error) {
    throw error instanceof server.StartError ? new CannotRun(error.message) : error;
  }
}

interface Progressed {
  readonly of: 'Log' | 'Index';
  readonly entries: number;
  readonly entriesTotal: number;
}

interface Wish extends Place {
  readonly keys: readonly string[];
  readonly seen: readonly string[];
  readonly tenant: string | undefined;
  readonly isWithoutIndex: boolean;
}

async function verified(
  shown: string,
  { directory, database, ...asked }: Wish,
  server: Server,
): Promise<StoreVerdict> {
  using shownProgress = new DisposableStack();
  let progress = shownProgress.use(startProgress(`verifying ${shown}`, 'entries'));
  let of: 'Log' | 'Index' = 'Log';
  const wish = {
    ...asked,
    onProgress(so: Progressed) {
      if (of !== so.of)
        progress = shownProgress.use(startProgress(`comparing the index of ${shown}`, 'events'));
      of = so.of;
      progress.show(so.entries, so.entriesTotal);
    },
  };
  return await (database === undefined
    ? server.checkStore(directory!, wish)
    : server.checkDatabase(database.url, { ...wish, directory, setting: database.setting }));
}

/** Throws CannotRun where there is nothing to verify, or nothing to verify it by. */
function placeOf(where: string, options: StoreOptions, server: Server): Place {
  if (isDatabase(where)) {
    if (options.key === undefined || options.anchor === undefined)
      throw new CannotRun(
        'a database is verified by --key and --anchor, or with its data directory: set Storage__Url and name that directory',
      );
    if (!URL.canParse(where)) throw new CannotRun('that is no URL of a database');
    const database = { url: where, setting: 'the command line' };
    return {
      database,
      directory: undefined,
      anchor: options.anchor,
      keyring: keyringIn('.', options, undefined, server),
    };
  }
  const hasJournal = server.isStore(where);
  const settings = settingsOr(hasJournal, options, server);
  const database = settings && server.verifyingUrl(settings.storage);
  // A directory whose events were moved to a database may still have those that it had before.
  const isOwn = settings !== undefined && resolve(settings.storage.dataDirectory) === resolve(where);
  if (database !== undefined && (isOwn || !hasJournal)) {
    const anchor = options.anchor ?? settings?.log.anchor;
    return { database, directory: where, anchor, keyring: keyringIn(where, options, settings, server) };
  }
  const keyring = keyringIn(where, options, isOwn ? settings : undefined, server);
  if (hasJournal) return { directory: where, anchor: options.anchor, keyring };
  throw new CannotRun(
    `${where} is a directory without data; give the data directory of a service, with Storage__Url set if it has a database`,
  );
}

/** By the settings that belong to the data, or a file of secrets; undefined: one beside the data. */
function keyringIn(
  dataDirectory: string,
  { keyring }: StoreOptions,
  settings: Config | undefined,
  server: Server,
): Place['keyring'] {
  const own = settings && server.keyringOf({ ...settings, storage: { dataDirectory } });
  if (keyring === undefined) return own;
  return { ...(own ?? server.plainKeyring('.')), path: keyring };
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
  return directory !== undefined && existsSync(join(directory, 'signing-keys'));
}

/** Refuses options of stored data where something else is verified. */
export function refuseStoreOptions({ config, ...options }: StoreOptions): void {
  const given = givenOption(options, ['verbose', 'anchor', 'keyring', 'withoutIndex']);
  if (given !== undefined) throw new CannotRun(`${given} is for a data directory or a database`);
  if (config !== undefined) throw new CannotRun('--config is for a data directory');
}
