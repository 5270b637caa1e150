// Text that comes from elsewhere, made fit for a terminal.

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** What comes out of a file must not steer the reader's terminal, begin a line of its own, or turn one around. */
export function printable(text: string): string {
  return text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
