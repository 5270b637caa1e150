// Remembers the last result of a function of a moment. Requests of one millisecond, and events of one commit, ask for
// the same text again and again, and making an instant's text costs as much as validating an event.

export function rememberLast<T>(make: (atMs: number, of: string) => T): (atMs: number, of?: string) => T {
  let last: { readonly atMs: number; readonly of: string; readonly made: T } | undefined;
  return (atMs, of = '') => {
    if (last?.atMs !== atMs || last.of !== of) last = { atMs, of, made: make(atMs, of) };
    return last.made;
  };
}
