// The access matrix and the two worlds are told over REST by tests of the server.

import { REST } from './speakers/rest.ts';
import { tellStory } from './story.ts';

tellStory(REST);
