// Most operations refuse in the same words. Such a response stands once among the components, named by its status, and is referred to.

type Responses = Record<string, object>;

/** A response is shared from so many places on. */
const PLACES_MIN = 3;

/** Puts references in place of the responses that are the same in many operations, and gives those responses by name. */
export function shareResponses(operations: readonly { responses: Responses }[]): Record<string, object> {
  const places = new Map<string, { status: string; count: number; response: object }>();
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const text = status + JSON.stringify(response);
      const place = places.get(text) ?? { status, count: 0, response };
      places.set(text, { ...place, count: place.count + 1 });
    }
  }
  const names = new Map<string, string>();
  const shared: Record<string, object> = {};
  const often = [...places].filter(([, { count }]) => count >= PLACES_MIN);
  for (const [text, { status, response }] of often.sort(([, a], [, b]) => b.count - a.count)) {
    const name = freeName(`Answer${status}`, shared);
    names.set(text, name);
    shared[name] = response;
  }
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const name = names.get(status + JSON.stringify(response));
      if (name !== undefined) responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return Object.fromEntries(Object.entries(shared).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `Answer404`, then `Answer404B`, and so on. */
function freeName(stem: string, taken: object): string {
  if (!Object.hasOwn(taken, stem)) return stem;
  for (let code = 'B'.charCodeAt(0); ; code += 1) {
    const name = stem + String.fromCharCode(code);
    if (!Object.hasOwn(taken, name)) return name;
  }
}
