// The page on which people read the interface and try it out. Swagger UI shows the document; what is around it is here.

import { type Version, VERSIONS } from '@tallystick/contract';

const NAMES: Readonly<Record<Version, string>> = { v1: 'Version 1', v2: 'Version 2' };

export function showingPage(version: Version): string {
  const links = VERSIONS.map((each) =>
    each === version
      ? `<strong aria-current="page">${NAMES[each]}</strong>`
      : `<a href="/docs/${each}">${NAMES[each]}</a>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tallystick: ${NAMES[version]} of the interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>
body { margin: 0; background: #fff; }
nav { display: flex; gap: 1.25rem; flex-wrap: wrap; align-items: baseline; padding: 0.75rem 1.25rem; font: 15px system-ui, sans-serif; background: #14213d; color: #fff; }
nav a { color: #cfe0ff; }
nav .name { font-size: 18px; font-weight: 600; margin-right: auto; }
noscript p { padding: 1rem 1.25rem; font: 15px system-ui, sans-serif; }
</style>
</head>
<body>
<nav><span class="name">Tallystick</span>${links.join('')}<a href="/openapi/${version}.json" download="tallystick-${version}.json">OpenAPI 3.0 (JSON)</a></nav>
<main id="interface" data-document="/openapi/${version}.json"></main>
<noscript><p>This page needs JavaScript. The same is in <a href="/openapi/${version}.json">the OpenAPI document</a>.</p></noscript>
<script src="/docs/swagger-ui.js"></script>
<script src="/docs/show.js"></script>
</body>
</html>
`;
}

/** Credentials that a reader enters are kept for as long as the page is open. */
export const SHOW_SCRIPT = `const place = document.getElementById('interface');
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
`;
