// Numbers of things as people say them.

export function countedEntries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`;
}

/** Of things that are many by an `s`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
