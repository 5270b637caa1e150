// The certificate and the key that the settings name, read once; throws ConfigError when they cannot be used, with a
// line for each file that cannot be read.

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from './config-error.ts';
import type { Config } from './settings.ts';

export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Undefined: the settings name none. */
export function readTlsFiles({ server: { tls } }: Config): TlsFiles | undefined {
  if (tls.certificate === undefined || tls.key === undefined) return undefined;
  const problems: string[] = [];
  const certificate = readPem('Server__Tls__Certificate', tls.certificate, problems);
  const key = readPem('Server__Tls__Key', tls.key, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    throw new ConfigError([
      `Server__Tls__Certificate: ${tls.certificate} and ${tls.key} are no certificate and its key`,
    ]);
  }
  return { certificate, key };
}

function readPem(name: string, file: string, problems: string[]): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    problems.push(`${name}: cannot read ${file} (${code})`);
    return '';
  }
}
