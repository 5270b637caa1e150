// The index of events in views.db.

import { claimIndex } from '../../event-index/testing/index-claims.ts';
import { claimUpkeep } from '../../event-index/testing/upkeep-claims.ts';
import { openSqliteIndex } from './testing/index-backend.ts';

claimIndex(openSqliteIndex);
claimUpkeep(openSqliteIndex);
