// The files of keys and the anchor: they are where the settings say, and nobody else may read the keys or change the anchor.

import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { anchorPlace } from '../../config/anchor-place.ts';
import { databaseUrls } from '../../config/database-urls.ts';
import type { Config } from '../../config/settings.ts';
import { tlsFileNames } from '../../config/tls-files.ts';
import { keyringOf } from '../../keyring-place.ts';
import { StartError } from '../../start-error.ts';
import { anchorFilesAt } from '../../storage/anchor/files.ts';
import { loadSigningKeys, SIGNING_KEYS_FOLDER } from '../../storage/keys/signing-key-files.ts';
import { TOKEN_KEY_FILE } from '../../storage/keys/token-key.ts';
import { openKeyring } from '../../storage/sealing/open-keyring.ts';
import { openJournalForReading } from '../../storage/sqlite/connection/database.ts';
import { namedRingKeysIn } from '../../storage/sqlite/records/tenant-keys.ts';
import type { Examined, Problem } from './examined.ts';

const GROUP_AND_OTHERS = 0o077;
const WRITTEN_BY_OTHERS = 0o022;
const READ_BY_ALL = 0o004;

type Look = () => Promise<Problem[]> | Problem[];

/** One that cannot be looked at keeps none of the others from it. */
export async function examineFiles(config: Config): Promise<Examined> {
  const { dataDirectory } = config.storage;
  const signing = join(dataDirectory, SIGNING_KEYS_FOLDER);
  const tokenKey = join(dataDirectory, TOKEN_KEY_FILE);
  const keyring = keyringOf(config).path;
  const anchor = anchorPlace(config);
  const tlsKey = tlsFileNames(config)?.key;
  const looks: readonly (readonly [path: string, look: Look])[] = [
    [
      'what the signing keys are',
      async () => ((await loadSigningKeys(dataDirectory)) ? [] : [missing('the signing keys', signing)]),
    ],
    [anchor, () => anchorProblems(anchor)],
    [dataDirectory, () => open(dataDirectory, GROUP_AND_OTHERS, '0700')],
    [signing, () => filesIn(signing).flatMap((path) => open(path, GROUP_AND_OTHERS, '0600'))],
    [tokenKey, () => open(tokenKey, GROUP_AND_OTHERS, '0600')],
    [keyring, () => open(keyring, GROUP_AND_OTHERS, '0600')],
    ['the keyring', () => keyringProblems(config)],
    ...(tlsKey === undefined ? [] : [[tlsKey, () => open(tlsKey, READ_BY_ALL, '0600')] as const]),
  ];
  const problems: Problem[] = [];
  for (const [path, look] of looks) problems.push(...(await tried(path, look)));
  return { problems };
}

async function tried(path: string, look: Look): Promise<Problem[]> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ what: `${path} cannot be examined: ${why}`, remedy: 'mend that, and run the command again' }];
  }
}

async function anchorProblems(place: string): Promise<Problem[]> {
  const anchors = await anchorFilesAt(place);
  if (anchors.length === 0) return [missing('the anchor', place)];
  return anchors.flatMap((path) => open(path, WRITTEN_BY_OTHERS, '0600'));
}

/** What the start would refuse. */
async function keyringProblems(config: Config): Promise<Problem[]> {
  const ringKeys = await ringKeysNamed(config);
  try {
    await openKeyring(keyringOf(config), ringKeys, undefined);
    return [];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return [{ what: error.message, remedy: 'do so before the service starts again: it would refuse to' }];
  }
}

/** The keys of the keyring that the store names. */
async function ringKeysNamed({ storage }: Config): Promise<string[]> {
  const urls = databaseUrls(storage);
  if (urls !== undefined)
    return (await import('../../storage/postgres/examine-database.ts')).ringKeysNamedIn(urls);
  using journal = openJournalForReading(storage.dataDirectory);
  return namedRingKeysIn(journal);
}

function missing(what: string, path: string): Problem {
  return {
    what: `${what} should be at ${resolve(path)}, and there is nothing`,
    remedy: 'put it back from a copy before the service starts again: it would refuse the log, or begin anew',
  };
}

function open(path: string, forbidden: number, mode: string): Problem[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & forbidden) === 0) return [];
  const what = `others may ${forbidden === WRITTEN_BY_OTHERS ? 'change' : 'read'} ${path} (mode ${(found.mode & 0o777).toString(8)})`;
  return [{ what, remedy: `chmod ${mode} ${path}` }];
}

function filesIn(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder).map((name) => join(folder, name));
}
