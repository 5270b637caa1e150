// Request headers (or what a protocol has in their place) by lower-case name; a repeated one is joined by ", ".

export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

export function header(headers: HeaderValues, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}
