// Parts of bodies and messages that are as large as there is room for, each of one small piece again and again.

const MB = 1024 * 1024;
/** Leaves room for what stands around the filling. */
export const LARGE_BYTES = MB - 1024;

export const filled = (unit: string, bytes: number) =>
  unit.repeat(Math.floor(bytes / unit.length)).slice(0, -1);
export const list = (unit: string, bytes: number) => `[${filled(`${unit},`, bytes)}]`;

/** Keys of two to five characters, then a number: as many as fit. */
export function keys(
  bytes: number,
  key: (index: number) => string = (index) => `k${index.toString(36)}`,
): string {
  const members: string[] = [];
  for (let [index, length] = [0, 0]; ; index++) {
    const member = `"${key(index)}":0`;
    length += member.length + 1;
    if (length > bytes) return `{${members.join(',')}}`;
    members.push(member);
  }
}

export const nested = (open: string, close: string, bytes: number) => {
  const levels = Math.floor(bytes / (open.length + close.length));
  return `${open.repeat(levels)}0${close.repeat(levels)}`;
};
