// Tells when the sender of a request is gone, for work that is worth nothing to anybody else.

import type { IncomingMessage } from 'node:http';

export interface Gone extends Disposable {
  readonly signal: AbortSignal;
}

/** Disposed of once the answer is made: the connection may have other requests after this one. */
export function goneOf({ socket }: Pick<IncomingMessage, 'socket'>): Gone {
  const controller = new AbortController();
  const onClose = () => controller.abort();
  if (socket.destroyed) onClose();
  else socket.once('close', onClose);
  return { signal: controller.signal, [Symbol.dispose]: () => void socket.off('close', onClose) };
}
