// The server cannot start, for a reason that an operator can mend. The message is one clear line.

export class StartError extends Error {
  override readonly name = 'StartError';
}
