// A command that could not do its work at all, as opposed to one whose answer is no. Its message is one line.

export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}
