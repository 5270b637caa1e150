// P12 on the embedded store: kills at the commits of a purge.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { PURGE_CUTS, requirePurgesSurvive } from './purge-cuts.ts';

test(`a purge that is killed at any of ${PURGE_CUTS.length} places leaves a store that verifies, and goes on by itself`, () =>
  requirePurgesSurvive(BACKENDS.SQLite, PURGE_CUTS));
