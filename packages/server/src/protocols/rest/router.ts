// Finds the route for a method and a path. A path is split at its slashes and decoded afterwards,
// segment by segment: an encoded slash is part of a name and never a border. A name goes before a placeholder, and
// one segment before the rest of the path. A route that takes the rest gets its parameters as they were sent, because
// its slashes have a meaning, and its names have one spelling. A path that cannot be decoded has no route. HEAD is served
// wherever GET is.

import type { Route } from './routes.ts';

/** What the path has in place of the placeholders; `*` is the rest of a path. */
export type Parameters = Readonly<Record<string, string | undefined>>;

export interface Routed {
  readonly route: Route;
  readonly parameters: Parameters;
}

export type Router = (method: string, path: string) => Routed | undefined;

/** A place in the tree of paths, reached by the segments before it. */
interface Place {
  readonly names: Map<string, Place>;
  placeholder?: Place;
  route?: Route;
  /** The route that takes the rest of the path. */
  restRoute?: Route;
}

interface Table {
  /** Paths without placeholders, which need no search. */
  readonly whole: Map<string, Routed>;
  readonly tree: Place;
}

export function createRouter(routes: readonly Route[]): Router {
  const tables = new Map<string, Table>();
  for (const route of routes) {
    const table = tables.get(route.method) ?? { whole: new Map(), tree: { names: new Map() } };
    tables.set(route.method, table);
    add(table, route);
  }
  const read = tables.get('GET');
  if (read !== undefined) tables.set('HEAD', read);
  return (method, path) => {
    const table = tables.get(method);
    return table && (table.whole.get(path) ?? search(table, path));
  };
}

function add({ whole, tree }: Table, route: Route): void {
  let place = tree;
  for (const segment of route.url.split('/').slice(1)) {
    if (segment === '*') {
      place.restRoute = route;
      return;
    }
    const next: Place = (segment.startsWith(':') ? place.placeholder : place.names.get(segment)) ?? {
      names: new Map(),
    };
    if (segment.startsWith(':')) place.placeholder = next;
    else place.names.set(segment, next);
    place = next;
  }
  place.route = route;
  if (!route.url.includes(':')) whole.set(route.url, { route, parameters: {} });
}

function search({ tree }: Table, path: string): Routed | undefined {
  if (!path.startsWith('/')) return undefined;
  try {
    const sent = path.slice(1).split('/');
    return walk(tree, { sent, decoded: path.includes('%') ? sent.map(decodeURIComponent) : sent }, 0, []);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

interface Segments {
  readonly sent: readonly string[];
  readonly decoded: readonly string[];
}

/** `found` are the places in the path of the placeholders so far. */
function walk(place: Place, segments: Segments, at: number, found: readonly number[]): Routed | undefined {
  const { sent, decoded } = segments;
  const segment = decoded[at];
  if (segment === undefined) {
    const values = found.map((i) => decoded[i]!);
    return place.route && routed(place.route, values);
  }
  const { placeholder, restRoute } = place;
  const named = place.names.get(segment);
  return (
    (named && walk(named, segments, at + 1, found)) ??
    (placeholder && walk(placeholder, segments, at + 1, [...found, at])) ??
    (restRoute && routed(restRoute, [...found.map((i) => sent[i]!), sent.slice(at).join('/')]))
  );
}

function routed(route: Route, values: readonly string[]): Routed {
  const names = route.url.split('/').filter((segment) => segment === '*' || segment.startsWith(':'));
  const parameters = Object.fromEntries(
    names.map((name, i) => [name === '*' ? name : name.slice(1), values[i]]),
  );
  return { route, parameters };
}
