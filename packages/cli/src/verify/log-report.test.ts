import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportLog } from './log-report.ts';

test('what was read of a log is counted as people say it', () => {
  const told = (entries: number, notices: number, tiles: number) => {
    const { text } = reportLog({
      address: 'https://audit.example.com/api/v1/log/t/acme',
      checkpoint: { origin: 'audit.example.com/t/acme', size: entries, root: new Uint8Array(32) },
      cosignedBy: [],
      extends: undefined,
      keys: [],
      keysFrom: 'Given',
      formerLogs: [],
      entries: { entries, notices, tiles, firstReceivedAtMs: undefined, lastReceivedAtMs: undefined },
      keptIn: 'here',
    });
    return /entries +(.*)/.exec(text)![1];
  };
  assert.equal(told(1, 1, 1), 'all 1 read, 1 of them a notice, with 1 tile');
  assert.equal(told(5, 0, 2), 'all 5 read, 0 of them notices, with 2 tiles');
});
