// The description of the interface, for programs at /openapi and for people at /docs. Nobody needs a credential to read it, and
// nothing in it comes from the data.

import { type OperationName, openApiOf, VERSIONS } from '@tallystick/contract';
import type { Mount } from '../http/mount.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { type Files, once, packed, serving, type StaticFile } from '../http/static-file.ts';
import { SHOW_SCRIPT, showingPage } from './page.ts';
import { readSwaggerUi } from './swagger-ui.ts';

export interface DocsOptions {
  readonly operations: ReadonlySet<OperationName>;
  /** The version of the program. */
  readonly build: string;
  /** Whether the service is reached over TLS, here or at a proxy in front. */
  readonly isTls: boolean;
  /** The form in which other mounts refuse. */
  readonly refuse: Mount['refuse'];
}

const JSON_TYPE = 'application/json; charset=utf-8';
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const STYLE_TYPE = 'text/css; charset=utf-8';
const PAGE_TYPE = 'text/html; charset=utf-8';

/** Swagger UI sets styles on elements; scripts run from our own files only, and the page asks nobody but us. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function createDocsMounts({ operations, build, isTls, refuse }: DocsOptions): Mount[] {
  const standing = standingHeaders(isTls);
  const described = VERSIONS.map((version): [string, () => Promise<StaticFile>] => [
    `/openapi/${version}.json`,
    once(() => packed(JSON_TYPE, JSON.stringify(openApiOf(version, { operations, build })))),
  ]);
  const pages = VERSIONS.map((version): [string, () => Promise<StaticFile>] => [
    `/docs/${version}`,
    once(() => packed(PAGE_TYPE, showingPage(version))),
  ]);
  const newest = pages.at(-1)![1];
  const shown: Files = new Map([
    ...pages,
    ['/docs', newest],
    ['/docs/show.js', once(() => packed(SCRIPT_TYPE, SHOW_SCRIPT))],
    [
      '/docs/swagger-ui.js',
      once(async () => packed(SCRIPT_TYPE, await readSwaggerUi('swagger-ui-bundle.js'))),
    ],
    ['/docs/swagger-ui.css', once(async () => packed(STYLE_TYPE, await readSwaggerUi('swagger-ui.css')))],
  ]);
  return [
    { prefix: '/openapi', standingHeaders: standing, handle: serving(new Map(described)), refuse },
    {
      prefix: '/docs',
      standingHeaders: { ...standing, 'Content-Security-Policy': PAGE_POLICY },
      handle: serving(shown),
      refuse,
    },
  ];
}
