// The claims of every backend, on a Citus cluster. It is no part of `npm test`, which has no cluster; docs/operating/scale.md
// says how it is run.

import { before, describe, it } from 'node:test';
import { ALL_CLAIMS } from '../../packages/server/src/storage/conformance/all-claims.ts';
import { placeAt } from '../../packages/server/src/testing/postgres-claims.ts';
import { CLUSTER_URL, emptyCluster, prepareCluster } from './cluster.ts';

before(prepareCluster);

describe('Citus', () => {
  for (const [claim, holds] of ALL_CLAIMS) {
    it(claim, async () => {
      await emptyCluster();
      await using place = placeAt(CLUSTER_URL);
      await holds(place);
    });
  }
});
