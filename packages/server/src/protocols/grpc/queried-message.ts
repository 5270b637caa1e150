// A call of Connect by GET: its message stands in the query, so that answers of reads can be asked for by a link.

import { AuditError } from '@tallystick/contract';
import type { Codec } from './form.ts';

export interface QueriedMessage {
  readonly codec: Codec;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

export function queriedMessage(queryText: string): QueriedMessage {
  const query = new URLSearchParams(queryText);
  const encoding = query.get('encoding') ?? 'json';
  if (encoding !== 'json' && encoding !== 'proto') throw wrong('encoding', 'must be json or proto', encoding);
  const compression = query.get('compression') ?? 'identity';
  if (compression !== 'identity') throw wrong('compression', 'must be identity, or absent', compression);
  const text = query.get('message') ?? '';
  const bytes = query.get('base64') === '1' ? Buffer.from(text, 'base64url') : Buffer.from(text);
  const codec = encoding === 'json' ? 'Json' : 'Proto';
  return { codec, contentType: `application/${encoding}`, bytes };
}

function wrong(field: string, issue: string, value: string): AuditError {
  return new AuditError('INVALID_PARAMETER', `${field} ${issue}.`, { details: [{ field, issue, value }] });
}
