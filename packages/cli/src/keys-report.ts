// API keys as `tallystick keys list` shows them to people. Never a secret.

import type { ApiKey } from '@tallystick/contract';
import { type Columns, tableLines } from './output/table.ts';

const COLUMNS: Columns<ApiKey> = {
  'KEY ID': ({ keyId }) => keyId,
  TENANT: ({ tenantId }) => tenantId,
  STATUS: ({ status }) => status,
  'ROLES AND SCOPES': ({ roles, scopes }) => [...roles, ...scopes].join(' '),
  CLEARANCE: ({ clearance }) => clearance,
  CREATED: ({ createdAt }) => createdAt,
  EXPIRES: ({ expiresAt }) => expiresAt,
  NETWORKS: ({ allowedNetworks }) => allowedNetworks?.join(' '),
  'LAST USED': ({ lastUsedAt }) => lastUsedAt,
  NAME: ({ name }) => name,
};

export function keysAsTable(keys: readonly ApiKey[]): string {
  return `${tableLines(COLUMNS, keys).join('\n')}\n`;
}
