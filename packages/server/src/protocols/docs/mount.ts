// The description of the interface, for programs at /openapi and for people at /docs. Nobody needs a credential to read it, and
// nothing in it comes from the data.

import { join } from 'node:path';
import { type OperationName, openApiOf, VERSIONS } from '@tallystick/contract';
import type { Mount } from '../http/mount.ts';
import { copiedFile, PAGE_POLICY, PAGE_TYPE, SCRIPT_TYPE } from '../http/page-files.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { type Files, once, packed, serving, type StaticFile } from '../http/static-file.ts';
import { SHOW_SCRIPT, showingPage } from './page.ts';

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
    ['/docs/swagger-ui.js', once(() => swaggerUi('swagger-ui-bundle.js'))],
    ['/docs/swagger-ui.css', once(() => swaggerUi('swagger-ui.css'))],
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

const FOLDER = join(import.meta.dirname, 'swagger-ui');
const swaggerUi = (file: string) => copiedFile(FOLDER, '@fastify/swagger-ui', `static/${file}`);
