import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A pipeline that the script sends records to. */
export const pipelines = bindingKind({
  type: 'pipelines',
  description: 'A pipeline that the script sends records to.',
  fields: {
    pipeline: Type.Optional(Ref('Name of the pipeline.')),
    stream: Type.Optional(Ref('The stream, as newer clients call it.')),
  },
  example: { pipeline: 'clicks' },

  check({ pipeline, stream }) {
    if (pipeline !== undefined || stream !== undefined) return []
    return [{ pointer: '/pipeline', message: 'is required' }]
  },
})
