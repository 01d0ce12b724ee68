import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Size } from './units.js'

/** The response cache. */
export const Cache = Type.Object(
  {
    memory: Size(
      '256MB',
      'Cached responses in memory: bodies, header fields and their index. 0B: no response is cached.',
    ),
    disk: Type.Optional(
      Type.Object(
        {
          folder: Type.String({
            minLength: 1,
            description:
              'Folder of the files, relative to the configuration file. It must belong to this daemon alone.',
            examples: ['./cache'],
          }),
          bytes: Size('10GB', 'Maximum bytes of the files, including those that are being written.'),
        },
        {
          ...strict,
          description:
            'Second tier on disk: responses survive a restart, and larger ones than memory has space for are stored. ' +
            'null or absent: responses are cached in memory only. A change of folder needs a restart.',
        },
      ),
    ),
    max_object: Size('512MB', 'Maximum body of a cached response; larger ones are passed through.'),
  },
  { ...strict, default: {}, description: 'Cache of responses of origins, shared by all zones.' },
)

/** The responses of a zone that the cache stores. */
export const ZoneCache = Type.Union([Type.Literal('off'), Type.Literal('default'), Type.Literal('everything')], {
  default: 'default',
  description:
    'default: static files by the ending of the path, and what cache rules make eligible. everything: each response ' +
    'that RFC 9111 allows to store. off: nothing; cache rules have no effect.',
})
