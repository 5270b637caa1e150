// The index of events in PostgreSQL.

import { claimIndex } from '../../event-index/testing/index-claims.ts';
import { claimUpkeep } from '../../event-index/testing/upkeep-claims.ts';
import { openPostgresIndex } from './testing/index-backend.ts';

claimIndex(openPostgresIndex);
claimUpkeep(openPostgresIndex);
