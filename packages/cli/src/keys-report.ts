// API keys as `tallystick keys list` shows them to people. Never a secret.

import type { ApiKey } from '@tallystick/contract';
import { paint } from './output/paint.ts';

const COLUMNS: Readonly<Record<string, (key: ApiKey) => string | undefined>> = {
  'KEY ID': ({ keyId }) => keyId,
  TENANT: ({ tenantId }) => tenantId,
  STATUS: ({ status }) => status,
  'ROLES AND SCOPES': ({ roles, scopes }) => [...roles, ...scopes].join(' '),
  CLEARANCE: ({ clearance }) => clearance,
  CREATED: ({ createdAt }) => createdAt,
  EXPIRES: ({ expiresAt }) => expiresAt,
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
  NAME: ({ name }) => name,
};

export function keysAsTable(keys: readonly ApiKey[]): string {
  const titles = Object.keys(COLUMNS);
  const rows = [titles, ...keys.map((key) => Object.values(COLUMNS).map((cellOf) => cellOf(key) ?? '-'))];
  const widths = titles.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const [head = '', ...lines] = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  return [paint('bold', head), ...lines, ''].join('\n');
}
