// The certificate and the key that the settings name; throws ConfigError when they cannot be used, with a line for each file that
// cannot be read.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError } from './config-error.ts';
import type { Config } from './settings.ts';

export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Undefined: the settings name none. */
export function readTlsFiles(config: Config): TlsFiles | undefined {
  const names = tlsFileNames(config);
  if (names === undefined) return undefined;
  const problems: string[] = [];
  const read = (setting: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      problems.push(unreadable(setting, file, error));
      return '';
    }
  };
  const certificate = read(CERTIFICATE, names.certificate);
  const key = read(KEY, names.key);
  return requirePair({ certificate, key }, names, problems);
}

/** Reads them again, while the service runs and without holding anyone up. */
export async function readTlsFilesAgain(names: TlsFileNames): Promise<TlsFiles> {
  const problems: string[] = [];
  const read = async (setting: string, file: string): Promise<string> => {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      problems.push(unreadable(setting, file, error));
      return '';
    }
  };
  const [certificate, key] = await Promise.all([read(CERTIFICATE, names.certificate), read(KEY, names.key)]);
  return requirePair({ certificate, key }, names, problems);
}

export interface TlsFileNames {
  readonly certificate: string;
  readonly key: string;
}

export function tlsFileNames({ server: { tls } }: Config): TlsFileNames | undefined {
  const { certificate, key } = tls;
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

const CERTIFICATE = 'Server__Tls__Certificate';
const KEY = 'Server__Tls__Key';

function requirePair(files: TlsFiles, names: TlsFileNames, problems: readonly string[]): TlsFiles {
  if (problems.length > 0) throw new ConfigError(problems);
  if (arePair(files)) return files;
  throw new ConfigError([
    `${CERTIFICATE}: ${names.certificate} and ${names.key} are no certificate and its key`,
  ]);
}

/** A secure context alone takes an empty file for none given, and would then refuse every handshake. */
export function arePair({ certificate, key }: TlsFiles): boolean {
  try {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return false;
    createSecureContext({ cert: certificate, key });
    return true;
  } catch {
    return false;
  }
}

export function unreadable(setting: string, file: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
  return `${setting}: cannot read ${file} (${code})`;
}
