// Numbers of things as people say them.

export function countedEntries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`;
}
