// Run by npm after it has packed the package in the current directory: takes away what `prepack.ts` has put there.

import { renameSync, rmSync } from 'node:fs';
import { KEPT, LICENSE, MANIFEST } from './places.ts';

renameSync(KEPT, MANIFEST);
rmSync(LICENSE, { force: true });
