// For processes that are killed before a statement: what was asked before it has gone out by then. The service holds it back until
// the end of its turn, and a cut before a statement would be one before the whole turn.

import { Socket } from 'node:net';

export function sendAtOnce(): void {
  Socket.prototype.cork = () => {};
  Socket.prototype.uncork = () => {};
}
