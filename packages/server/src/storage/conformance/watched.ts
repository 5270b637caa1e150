// A port that records the kinds of its calls and answers: the fields, their types, and the value of every status. Two
// ways to run a backend that see the same kinds have exchanged the same messages.

/** The same port; the kinds of its messages are added to `seen`. */
export function watched<T extends object>(port: T, name: string, seen: Set<string>): T {
  return new Proxy(port, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof property === 'symbol') return member;
      const path = name === '' ? property : `${name}.${property}`;
      if (isPort(member)) return watched(member, path, seen);
      if (typeof member !== 'function') return member;
      return (...asked: unknown[]): unknown => {
        addKinds(asked, `${path}?`, seen);
        const answer: unknown = Reflect.apply(member, target, asked);
        return answer instanceof Promise
          ? answer.then((value: unknown) => passOn(value, path, seen))
          : passOn(answer, path, seen);
      };
    },
  });
}

/** An answer is a port itself, or a message. */
function passOn(value: unknown, path: string, seen: Set<string>): unknown {
  if (isPort(value)) return watched(value, path, seen);
  addKinds(value, path, seen);
  return value;
}

function isPort(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((member) => typeof member === 'function')
  );
}

function addKinds(value: unknown, path: string, seen: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) addKinds(each, `${path}[]`, seen);
  else if (typeof value !== 'object' || value === null) seen.add(`${path} ${typeof value}`);
  else if (value instanceof Uint8Array) seen.add(`${path} bytes`);
  else if (value instanceof Error) seen.add(`${path} error`);
  else {
    for (const [key, member] of Object.entries(value)) {
      if (key === 'status') seen.add(`${path}.status ${String(member)}`);
      else addKinds(member, `${path}.${key}`, seen);
    }
  }
}
