// Asks a cheap question again and again, in a process of its own, and reports the longest that an answer took since the
// last report: one that is still outstanding counts with the time it has taken so far.

import { Agent, request } from 'node:http';

const url = process.argv[2]!;
const PAUSE_MS = 5;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let longestMs = 0;
let sentAt: number | undefined;

function ask(): void {
  const beganAt = (sentAt = performance.now());
  const done = () => {
    sentAt = undefined;
    longestMs = Math.max(longestMs, performance.now() - beganAt);
    setTimeout(ask, PAUSE_MS);
  };
  const sent = request(url, { agent }, (response) => response.resume().once('end', done));
  sent.once('error', done);
  sent.end();
}

process.on('message', () => {
  const outstandingMs = sentAt === undefined ? 0 : performance.now() - sentAt;
  process.send?.(Math.max(longestMs, outstandingMs));
  longestMs = 0;
});
ask();
