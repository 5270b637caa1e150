// Numbers of things as people say them.

/** `many` is for things that are many by something else than an `s`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
