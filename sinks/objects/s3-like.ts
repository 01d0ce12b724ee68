import type { Static } from 'typebox'
import { paramReader, type ParamSchema } from '../contract/params.js'
import type { SinkDeps, SinkType } from '../contract/sink-type.js'
import { folderOf } from './folder.js'
import type { ObjectFormat } from './format.js'
import { objectSink } from './object-sink.js'
import { s3Store, type S3Place } from './s3-store.js'

/** How a destination differs that stores gzipped objects over the API of S3. */
export interface S3LikeOptions<S extends ParamSchema> extends Pick<SinkType, 'scheme' | 'form' | 'summary'> {
  readonly params: S
  /** The bucket and the server. Throws InvalidInput with the pointer "". */
  readonly place: (destination: URL, given: Static<S>, deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress'>) => S3Place
  /** Whether the owner of a job has to prove that the bucket is theirs. */
  readonly ownership?: (given: Static<S>) => boolean
}

/** A type of destination that stores each batch as an object of S3 or of a server with the same API. */
export function s3Like<const S extends ParamSchema>({ place, ownership, ...type }: S3LikeOptions<S>): SinkType {
  const read = paramReader(type.params)
  return {
    ...type,
    ...(ownership && { ownership: (destination) => ownership(read(destination)) }),

    check(destination, deps) {
      place(destination, read(destination), deps)
      folderOf(destination)
    },

    open(destination, deps) {
      const given = read(destination)
      const { format } = given as { readonly format?: ObjectFormat }
      return objectSink(s3Store(place(destination, given, deps), deps), folderOf(destination), deps.clock, format)
    },
  }
}
