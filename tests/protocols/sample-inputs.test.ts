import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationsIn, VERSIONS } from '@tallystick/contract';
import { faultsOf } from '../../packages/contract/src/testing.ts';
import { sampleInput } from './sample-inputs.ts';

test('the sample input of each operation is sound, in each version', () => {
  for (const version of VERSIONS)
    for (const operation of operationsIn(version))
      assert.deepEqual(faultsOf(operation.input, sampleInput(operation)), [], operation.name);
});
