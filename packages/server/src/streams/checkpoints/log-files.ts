// Serves the log as files for third-party tools (C2SP tlog-tiles): checkpoint, verifier key, tiles and entries. Only
// canonical paths are served, and partial tiles only for published sizes.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import { EvidenceError, parseTilePath, type Tile } from '@tallystick/evidence';
import type { Call } from '../../call.ts';
import { latestOf, type ProvableParts, treeOf } from './provable.ts';

const TEXT = 'text/plain; charset=utf-8';

export function createLogFiles(parts: ProvableParts) {
  return {
    'log.checkpoint': async (call: Call): Promise<Answer<'log.checkpoint'>> => {
      const { checkpoint } = await latestOf(call, parts);
      return { kind: 'Done', body: textOf(checkpoint.note) };
    },
    'log.key': async (call: Call): Promise<Answer<'log.key'>> => {
      const { origin } = await treeOf(call, parts);
      return {
        kind: 'Done',
        body: textOf(
          parts.signing
            .verifierKeys(origin)
            .map((key) => `${key}\n`)
            .join(''),
        ),
      };
    },
    'log.tile': async (call: Call, { level, tile }: InputOf<'log.tile'>): Promise<Answer<'log.tile'>> => ({
      kind: 'Done',
      body: await tileOf(call, `tile/${level}/${tile}`, parts),
    }),
    'log.entries': async (call: Call, { tile }: InputOf<'log.entries'>): Promise<Answer<'log.entries'>> => ({
      kind: 'Done',
      body: await tileOf(call, `tile/entries/${tile}`, parts),
    }),
  };
}

async function tileOf(call: Call, path: string, parts: ProvableParts) {
  const tile = tileAt(path);
  const tree = await treeOf(call, parts);
  const bytes = tile === undefined ? undefined : await tree.tile(tile);
  if (bytes === undefined) throw new AuditError('TILE_NOT_FOUND', ERRORS.TILE_NOT_FOUND.meaning);
  return { mediaType: 'application/octet-stream', bytes, byteLength: bytes.length };
}

function tileAt(path: string): Tile | undefined {
  try {
    return parseTilePath(path);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

function textOf(text: string) {
  const bytes = Buffer.from(text);
  return { mediaType: TEXT, bytes, byteLength: bytes.length };
}
