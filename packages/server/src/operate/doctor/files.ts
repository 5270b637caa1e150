// The files of keys and the anchor: they are where the settings say, and nobody else may read the keys or change the anchor.

import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { anchorPlace } from '../../config/anchor-place.ts';
import type { Config } from '../../config/settings.ts';
import { tlsFileNames } from '../../config/tls-files.ts';
import { keyringOf } from '../../keyring-place.ts';
import { anchorFilesAt } from '../../storage/anchor/files.ts';
import { loadSigningKeys, SIGNING_KEYS_FOLDER } from '../../storage/keys/signing-key-files.ts';
import { TOKEN_KEY_FILE } from '../../storage/keys/token-key.ts';
import type { Examined, Problem } from './examined.ts';

const GROUP_AND_OTHERS = 0o077;
const WRITTEN_BY_OTHERS = 0o022;
const READ_BY_ALL = 0o004;

export async function examineFiles(config: Config): Promise<Examined> {
  const { dataDirectory } = config.storage;
  const signing = join(dataDirectory, SIGNING_KEYS_FOLDER);
  const keys = await loadSigningKeys(dataDirectory);
  const anchors = await anchorFilesAt(anchorPlace(config));
  const tls = tlsFileNames(config);
  const problems = [
    ...(keys === undefined ? [missing('the signing keys', signing)] : []),
    ...(anchors.length === 0 ? [missing('the anchor', anchorPlace(config))] : []),
    ...open(dataDirectory, GROUP_AND_OTHERS, '0700'),
    ...filesIn(signing).flatMap((path) => open(path, GROUP_AND_OTHERS, '0600')),
    ...open(join(dataDirectory, TOKEN_KEY_FILE), GROUP_AND_OTHERS, '0600'),
    ...open(keyringOf(config).path, GROUP_AND_OTHERS, '0600'),
    ...anchors.flatMap((path) => open(path, WRITTEN_BY_OTHERS, '0600')),
    ...(tls === undefined ? [] : open(tls.key, READ_BY_ALL, '0600')),
  ];
  return { problems };
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
