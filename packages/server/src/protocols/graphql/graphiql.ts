// GraphiQL, for people who open the address of GraphQL in a browser. As the pages of /docs it needs no credential, nothing in it
// comes from the data, and it asks nobody but the service.

import { join } from 'node:path';
import { VERSIONS } from '@tallystick/contract';
import { preferredType } from '../http/accept.ts';
import type { Exchange, Mount, Reply } from '../http/mount.ts';
import { copiedFile, PAGE_POLICY, PAGE_TYPE, SCRIPT_TYPE } from '../http/page-files.ts';
import { header } from '../http/request-headers.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { type Files, once, packed, serving } from '../http/static-file.ts';
import { graphiqlPage, SHOW_SCRIPT } from './graphiql-page.ts';

const FOLDER = join(import.meta.dirname, 'graphiql');
const copied = (name: string, path: string) => once(() => copiedFile(FOLDER, name, path));

const ASSETS: Files = new Map([
  ['/graphql/assets/graphiql.js', copied('graphiql', 'graphiql.min.js')],
  ['/graphql/assets/graphiql.css', copied('graphiql', 'graphiql.min.css')],
  ['/graphql/assets/react.js', copied('react', 'umd/react.production.min.js')],
  ['/graphql/assets/react-dom.js', copied('react-dom', 'umd/react-dom.production.min.js')],
  ['/graphql/assets/show.js', once(() => packed(SCRIPT_TYPE, SHOW_SCRIPT))],
]);

const showPage = serving(
  new Map(
    VERSIONS.map((version) => [`/graphql/${version}`, once(() => packed(PAGE_TYPE, graphiqlPage(version)))]),
  ),
);

/** What the pages of all versions load. */
export function createAssetsMount(isTls: boolean, refuse: Mount['refuse']): Mount {
  return {
    prefix: '/graphql/assets',
    standingHeaders: standingHeaders(isTls),
    handle: serving(ASSETS),
    refuse,
  };
}

/** Browsers accept HTML first and programs do not ask for it. A query is answered in either case. */
export function wantsPage({ request, queryText }: Pick<Exchange, 'request' | 'queryText'>): boolean {
  const { method } = request;
  if ((method !== 'GET' && method !== 'HEAD') || new URLSearchParams(queryText).has('query')) return false;
  const accept = header(request.headers, 'accept') ?? '';
  return accept.toLowerCase().includes(HTML) && preferredType(accept, [HTML, ...ANSWERS]) === HTML;
}

const HTML = 'text/html';
const ANSWERS = ['application/json', 'application/graphql-response+json', 'text/event-stream'] as const;

export async function pageReply(exchange: Exchange): Promise<Reply> {
  const { headers, ...reply } = await showPage(exchange);
  return { ...reply, headers: { ...headers, 'Content-Security-Policy': PAGE_POLICY, Vary: 'Accept' } };
}
