// API keys as `tallystick keys list` shows them: a table for people, JSON for programs. Never a secret.

import type { ListedKey } from '@tallystick/server';
import { paint } from './paint.ts';

const HEADINGS = [
  'KEY ID',
  'TENANT',
  'STATUS',
  'ROLES AND SCOPES',
  'CLEARANCE',
  'CREATED',
  'EXPIRES',
  'LAST USED',
  'NAME',
];

export function keysAsTable(keys: readonly ListedKey[]): string {
  const rows = [HEADINGS, ...keys.map(cells)];
  const widths = HEADINGS.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const [titles, ...lines] = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  return [paint('bold', titles!), ...lines, ''].join('\n');
}

function cells({ record, status, lastUsedAtMs }: ListedKey): string[] {
  const { keyId, tenantId, roles, scopes, clearance, createdAtMs, expiresAtMs, name } = record;
  const allowed = [...roles, ...scopes].join(' ');
  return [
    keyId,
    tenantId,
    status,
    allowed,
    clearance ?? '-',
    instant(createdAtMs)!,
    instant(expiresAtMs) ?? '-',
    instant(lastUsedAtMs) ?? '-',
    name,
  ];
}

/** In the form of the interface's ApiKey. */
export function keysAsJson(keys: readonly ListedKey[]): string {
  const shown = keys.map(({ record, status, lastUsedAtMs }) => ({
    keyId: record.keyId,
    tenantId: record.tenantId,
    name: record.name,
    roles: record.roles,
    scopes: record.scopes,
    clearance: record.clearance,
    status,
    createdAt: instant(record.createdAtMs),
    createdBy: record.createdBy,
    expiresAt: instant(record.expiresAtMs),
    lastUsedAt: instant(lastUsedAtMs),
  }));
  return `${JSON.stringify(shown, null, 2)}\n`;
}

function instant(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
