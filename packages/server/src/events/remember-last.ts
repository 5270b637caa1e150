// Remembers the last result of a function of a moment. Requests of one millisecond, and events of one commit, ask for
// the same text again and again, and making an instant's text costs as much as validating an event.

export function rememberLast<T>(make: (atMs: number) => T): (atMs: number) => T {
  let last: { readonly atMs: number; readonly made: T } | undefined;
  return (atMs) => {
    if (last?.atMs !== atMs) last = { atMs, made: make(atMs) };
    return last.made;
  };
}
