// A text as one word of a shell's command line, for commands that are printed to be pasted.

export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
