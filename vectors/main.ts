// npm run vectors: writes valid/ and invalid/ anew.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeVectors } from './make.ts';

for (const folder of ['valid', 'invalid'])
  rmSync(join(import.meta.dirname, folder), { recursive: true, force: true });

const files = await makeVectors();
for (const [path, text] of files) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
process.stdout.write(`${files.size} files written\n`);
