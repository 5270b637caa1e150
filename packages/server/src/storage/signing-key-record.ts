// What is written down beside a signing key, as one line of JSON; times as in 2026-01-02T03:04:05.678Z:
//
//   {"fingerprint":<hex SHA-256 of the public key>,"createdAt":<time>,"previousSignsUntil":<time; not in the first>}

import { parseJson } from '@tallystick/evidence';

export interface KeyRecord {
  readonly fingerprint: string;
  readonly createdAtMs: number;
  /** When the key before this one signs no more; the first key has none before it. */
  readonly previousSignsUntilMs?: number;
}

const FINGERPRINT = /^[0-9a-f]{64}$/;

export function formatKeyRecord({ fingerprint, createdAtMs, previousSignsUntilMs }: KeyRecord): string {
  return `${JSON.stringify({
    fingerprint,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(previousSignsUntilMs === undefined
      ? {}
      : { previousSignsUntil: new Date(previousSignsUntilMs).toISOString() }),
  })}\n`;
}

/** Undefined for any other text than one that formatKeyRecord gives. */
export function parseKeyRecord(text: string): KeyRecord | undefined {
  try {
    const record = recordIn(parseJson(text));
    return record !== undefined && formatKeyRecord(record) === text ? record : undefined;
  } catch {
    return undefined;
  }
}

function recordIn(value: unknown): KeyRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { fingerprint, createdAt, previousSignsUntil }: Record<string, unknown> = { ...value };
  if (typeof fingerprint !== 'string' || !FINGERPRINT.test(fingerprint) || typeof createdAt !== 'string')
    return undefined;
  const record = { fingerprint, createdAtMs: Date.parse(createdAt) };
  if (previousSignsUntil === undefined) return record;
  if (typeof previousSignsUntil !== 'string') return undefined;
  return { ...record, previousSignsUntilMs: Date.parse(previousSignsUntil) };
}
