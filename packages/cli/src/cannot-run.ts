// How commands end; and one that could not do its work at all, as opposed to one whose answer is no.

export const EXIT = { done: 0, failed: 1, wrongUsage: 2 } as const;

/** The message is one line. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}
