// The certificate and the key that the settings name, read once; throws ConfigError when they cannot be used.

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
  const certificate = readPem('Server__Tls__Certificate', tls.certificate);
  const key = readPem('Server__Tls__Key', tls.key);
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    throw new ConfigError([
      `Server__Tls__Certificate: ${tls.certificate} and ${tls.key} are no certificate and its key`,
    ]);
  }
  return { certificate, key };
}

function readPem(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ConfigError([`${name}: cannot read ${file} (${code})`]);
  }
}
