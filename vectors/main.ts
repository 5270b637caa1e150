// npm run vectors: writes valid/, invalid/, exports/ and webhooks/ anew.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDeliveries } from './deliveries.ts';
import { makeExports } from './exports.ts';
import { makeVectors } from './make.ts';

for (const folder of ['valid', 'invalid', 'exports', 'webhooks'])
  rmSync(join(import.meta.dirname, folder), { recursive: true, force: true });

const files = new Map([...(await makeVectors()), ...(await makeExports()), ...makeDeliveries()]);
for (const [path, text] of files) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
process.stdout.write(`${files.size} files written\n`);
