// The page on which people try GraphQL out. GraphiQL is the editor; what is around it is here.

import type { Version } from '@tallystick/contract';

export function graphiqlPage(version: Version): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tallystick: GraphQL ${version}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/graphql/assets/graphiql.css">
<style>
body { margin: 0; }
#graphiql { height: 100vh; height: 100dvh; }
noscript p { padding: 1rem 1.25rem; font: 15px system-ui, sans-serif; }
</style>
</head>
<body>
<main id="graphiql" data-endpoint="/graphql/${version}"></main>
<noscript><p>This page needs JavaScript. Its address is also that of the requests: send them by POST.</p></noscript>
<script src="/graphql/assets/react.js"></script>
<script src="/graphql/assets/react-dom.js"></script>
<script src="/graphql/assets/graphiql.js"></script>
<script src="/graphql/assets/show.js"></script>
</body>
</html>
`;
}

/** What a reader enters is kept for as long as the page is open: the history of GraphiQL would store credentials in the browser. */
export const SHOW_SCRIPT = `const place = document.getElementById('graphiql');

/** The parsed document that GraphiQL has is that of a moment ago. */
function follows({ query, operationName }) {
  const name = operationName ? operationName + '\\\\b' : '';
  return new RegExp('(^|})\\\\s*subscription\\\\b\\\\s*' + name).test(query.replaceAll(/#.*/g, ''));
}

/** The data of each server-sent event. */
async function tell(reader, observer) {
  for (let rest = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return observer.complete();
    const events = (rest + value).split('\\n\\n');
    rest = events.pop();
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) observer.next(JSON.parse(data));
    }
  }
}

async function ask(asked, { headers = {} } = {}) {
  const given = Object.entries(headers).filter(([, value]) => value !== '');
  const leaving = new AbortController();
  const answer = await fetch(place.dataset.endpoint, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: follows(asked) ? 'text/event-stream' : 'application/graphql-response+json, application/json',
      ...Object.fromEntries(given),
    },
    body: JSON.stringify(asked),
    signal: leaving.signal,
  });
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.json();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  return {
    subscribe(observer) {
      tell(reader, observer).catch((error) => leaving.signal.aborted || observer.error(error));
      return { unsubscribe: () => leaving.abort() };
    },
  };
}

ReactDOM.createRoot(place).render(
  React.createElement(GraphiQL, {
    fetcher: ask,
    storage: null,
    shouldPersistHeaders: false,
    defaultEditorToolsVisibility: 'headers',
    defaultHeaders: JSON.stringify({ 'X-API-Key': '', 'X-Tenant-Id': '' }, undefined, 2),
    defaultQuery: \`# Enter your API key and your tenant below,
# under Headers. Fetch the schema again by
# Ctrl-Shift-R, and run this by Ctrl-Enter.

{
  events(first: 10) {
    nodes {
      eventId
      action
    }
  }
}
\`,
  }),
);
`;
