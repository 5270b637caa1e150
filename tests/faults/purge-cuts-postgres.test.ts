// P12 on PostgreSQL: kills at the commits of a purge. Few in short: each is a start of the service.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { PURGE_CUTS, type PurgeCut, requirePurgesSurvive } from './purge-cuts.ts';
import { SIZE } from './size.ts';

const CUTS: readonly PurgeCut[] = SIZE.isLong ? PURGE_CUTS : ['Behind', 25];

test(`a purge that is killed at any of ${CUTS.length} places leaves a database that verifies, and goes on by itself`, () =>
  requirePurgesSurvive(BACKENDS.PostgreSQL, CUTS));
