import { checkAccess } from './access-matrix.ts';
import { MCP } from './speakers/mcp.ts';
import { tellStory } from './story.ts';
import { compareWorlds } from './two-worlds.ts';

tellStory(MCP);
checkAccess(MCP);
compareWorlds(MCP);
