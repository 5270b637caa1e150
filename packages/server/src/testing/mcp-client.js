// The official client, in a process of its own: a package that it brings has TypeScript under the condition by which our
// packages find one another's sources. Prints what it was told as JSON.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, key, tenant, eventId] = process.argv.slice(2);
const told = {};
for (const mode of ['auto', 'legacy']) {
  const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { 'X-API-Key': key, 'X-Tenant-Id': tenant } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'events_get', arguments: { eventId } });
  const { contents } = await client.readResource({ uri: `tallystick://events/${eventId}` });
  const prompt = { name: 'investigate_actor', arguments: { actorId: 'u-1' } };
  const { messages } = await client.getPrompt(prompt);
  const [content, message] = [contents[0].text, messages[0].content.text];
  told[mode] = {
    revision: client.getNegotiatedProtocolVersion?.(),
    tools: tools.length,
    structuredContent,
    content,
    message,
  };
  await client.close();
}
process.stdout.write(JSON.stringify(told));
