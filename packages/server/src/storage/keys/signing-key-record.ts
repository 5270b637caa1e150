// The record of a signing key, as one line of JSON; times as in 2026-01-02T03:04:05.678Z:
//
//   {"fingerprint":<hex SHA-256 of the public key>,"createdAt":<time>,"previousSignsUntil":<time; not in the first>}
//
// and the plan of the next key, before its record exists:
//
//   {"fingerprint":<as above>,"plannedAt":<time>,"previousSignsUntil":<time>,"noticeId":<ULID of the notices>}

import { parseJson } from '@tallystick/evidence';

export interface KeyRecord {
  readonly fingerprint: string;
  readonly createdAtMs: number;
  /** When the previous key stops signing; absent in the first record. */
  readonly previousSignsUntilMs?: number;
}

export interface RotationPlan {
  readonly fingerprint: string;
  readonly plannedAtMs: number;
  readonly previousSignsUntilMs: number;
  readonly noticeId: string;
}

const FINGERPRINT = /^[0-9a-f]{64}$/;
const NOTICE_ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function formatKeyRecord({ fingerprint, createdAtMs, previousSignsUntilMs }: KeyRecord): string {
  return `${JSON.stringify({
    fingerprint,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(previousSignsUntilMs === undefined
      ? {}
      : { previousSignsUntil: new Date(previousSignsUntilMs).toISOString() }),
  })}\n`;
}

export function formatRotationPlan(plan: RotationPlan): string {
  const { fingerprint, plannedAtMs, previousSignsUntilMs, noticeId } = plan;
  return `${JSON.stringify({
    fingerprint,
    plannedAt: new Date(plannedAtMs).toISOString(),
    previousSignsUntil: new Date(previousSignsUntilMs).toISOString(),
    noticeId,
  })}\n`;
}

/** Undefined for any text that formatKeyRecord does not produce. */
export function parseKeyRecord(text: string): KeyRecord | undefined {
  return parsed(text, recordIn, formatKeyRecord);
}

/** Undefined for any text that formatRotationPlan does not produce. */
export function parseRotationPlan(text: string): RotationPlan | undefined {
  return parsed(text, planIn, formatRotationPlan);
}

type Members = Readonly<Record<string, unknown>>;

function parsed<T>(
  text: string,
  read: (members: Members) => T | undefined,
  format: (value: T) => string,
): T | undefined {
  try {
    const value = parseJson(text);
    const found = typeof value === 'object' && value !== null ? read({ ...value }) : undefined;
    return found !== undefined && format(found) === text ? found : undefined;
  } catch {
    return undefined;
  }
}

function recordIn({ fingerprint, createdAt, previousSignsUntil }: Members): KeyRecord | undefined {
  if (typeof fingerprint !== 'string' || !FINGERPRINT.test(fingerprint) || typeof createdAt !== 'string')
    return undefined;
  const record = { fingerprint, createdAtMs: Date.parse(createdAt) };
  if (previousSignsUntil === undefined) return record;
  if (typeof previousSignsUntil !== 'string') return undefined;
  return { ...record, previousSignsUntilMs: Date.parse(previousSignsUntil) };
}

function planIn({ plannedAt, noticeId, ...record }: Members): RotationPlan | undefined {
  const { fingerprint, createdAtMs, previousSignsUntilMs } =
    recordIn({ ...record, createdAt: plannedAt }) ?? {};
  if (fingerprint === undefined || createdAtMs === undefined || previousSignsUntilMs === undefined)
    return undefined;
  if (typeof noticeId !== 'string' || !NOTICE_ID.test(noticeId)) return undefined;
  return { fingerprint, plannedAtMs: createdAtMs, previousSignsUntilMs, noticeId };
}
