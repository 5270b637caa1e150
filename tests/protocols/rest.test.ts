import { REST } from './speakers/rest.ts';
import { tellStory } from './story.ts';

tellStory(REST);
