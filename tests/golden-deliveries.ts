// The golden vectors of webhook deliveries, as tests of receivers read them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source.ts';

export interface GoldenDelivery {
  /** From their folder. */
  readonly path: string;
  readonly isValid: boolean;
  /** By their lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The newest first. */
  readonly secrets: readonly string[];
}

export const GOLDEN_FOLDER = join(ROOT, 'vectors/webhooks');
/** When all of them were sent, but for the one that is too old. */
export const SENT_SECONDS = 1_767_323_045;

export function goldenDeliveries(): GoldenDelivery[] {
  return ['invalid', 'valid'].flatMap((folder) =>
    readdirSync(join(GOLDEN_FOLDER, folder))
      .filter((name) => name.endsWith('.http'))
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((name) => readDelivery(`${folder}/${name}`)),
  );
}

function readDelivery(path: string): GoldenDelivery {
  const bytes = readFileSync(join(GOLDEN_FOLDER, path));
  const end = bytes.indexOf('\n\n');
  const [, ...lines] = bytes.subarray(0, end).toString().split('\n');
  const headers = lines.map((line) => line.split(': ', 2) as [string, string]);
  const secrets = readFileSync(join(GOLDEN_FOLDER, path.replace(/\.http$/, '.secrets')), 'utf8');
  return {
    path,
    isValid: path.startsWith('valid/'),
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body: bytes.subarray(end + 2),
    secrets: secrets.trimEnd().split('\n'),
  };
}
