import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import type { CompressionParams } from '../decisions.js'
import { repeats } from './shared.js'

const LAST = new Set(['none', 'auto', 'default'])
/** Without parameters the client's preference decides. */
const BY_CLIENT = [{ name: 'default' }] as const

export const compressResponse = action({
  name: 'compress_response',
  summary: 'Compresses the response with the first of `algorithms` that the client accepts.',
  phases: ['http_response_compression'],
  optional: true,

  params: Type.Object(
    {
      algorithms: Type.Optional(
        Type.Array(Type.Object({ name: Type.Enum(['none', 'auto', 'default', 'gzip', 'brotli', 'zstd']) }, strict), {
          minItems: 1,
          maxItems: 6,
          description: 'In order of preference; none, auto and default only at the end. Default: default.',
        }),
      ),
    },
    strict,
  ),

  check: ({ algorithms = [] }) => [
    ...repeats('/algorithms', algorithms, ({ name }: { name: string }) => name, 'name'),
    ...algorithms
      .slice(0, -1)
      .flatMap(({ name }, index) =>
        LAST.has(name) ? [{ pointer: `/algorithms/${index}/name`, message: `${name} must be the last algorithm` }] : [],
      ),
  ],

  prepare({ algorithms = BY_CLIENT }) {
    const names: CompressionParams = algorithms.map(({ name }) => name)
    return (run) => {
      const { exchange } = run
      run.change(() => (exchange.decisions.compression = names))
      return undefined
    }
  },

  examples: [
    {
      phase: 'http_response_compression',
      params: { algorithms: [{ name: 'zstd' }, { name: 'gzip' }, { name: 'auto' }] },
    },
    { phase: 'http_response_compression', params: { algorithms: [{ name: 'none' }] } },
  ],
})
