// The errors that end a start: the server cannot start, for a reason that an operator can fix, in one clear line; or it was
// told to stop.

export class StartError extends Error {
  override readonly name = 'StartError';
}

/** It was told to stop before it was ready. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}
