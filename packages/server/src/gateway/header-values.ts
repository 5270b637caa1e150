// Request headers (or what a protocol has in their place) by lower-case name; a repeated one is joined by ", ".

export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

export function header(headers: HeaderValues, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** What is wrong with a value that is to be visible and not too long; undefined when nothing is. */
export function visibleIssue(value: string, lengthMax: number): string | undefined {
  if (value.length <= lengthMax && VISIBLE_ASCII.test(value)) return undefined;
  return `must be 1 to ${lengthMax} visible ASCII characters, no blanks`;
}
