import { checkAccess } from './access-matrix.ts';
import { GRPC } from './speakers/grpc.ts';
import { tellStory } from './story.ts';
import { compareWorlds } from './two-worlds.ts';

tellStory(GRPC);
checkAccess(GRPC);
compareWorlds(GRPC);
