import { Type } from 'typebox'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { IngestRequests } from '../http/ingest-requests.js'
import { known } from './datasets.js'
import type { LogpushDeps } from './services.js'
import { ingest } from './ingest.js'

/** Code of the message for records that no job takes. */
const NO_JOB = 20101

/** Each request buffers a few hundred KiB, and up to a whole record. */
const LIMITS = { total: 64, perAccount: 48 }

const Result = Type.Object({
  accepted: Type.Integer({ description: 'Records that are safe on disk.' }),
  rejected: Type.Array(
    Type.Object({
      line: Type.Integer({ minimum: 1, description: 'Line, or element of the array, from 1.' }),
      message: Type.String(),
    }),
    { description: 'Records that were left out: the first hundred.' },
  ),
  more_rejected: Type.Optional(Type.Integer({ minimum: 1, description: 'Further ones.' })),
})

const rows = area({ scopes: ['account', 'zone'], access: ACCESS.logpush }, ({ logpush }: LogpushDeps) => {
  const requests = new IngestRequests('logpushBusy', LIMITS)
  return { logpush, requests }
})

/** Takes in the records that jobs push. */
export const records = rows.endpoints([
  rows.post('/edged/records/:dataset', {
    summary: 'Take records of a dataset, one JSON object a line or in one array, gzip allowed',
    raw: {
      types: ['application/x-ndjson', 'application/json'],
      schema: Type.Unknown({ description: 'Members that are not fields of the dataset are left out.' }),
    },
    status: 202,
    result: Result,
    async handle({ logpush, requests }, { scope, accountId, params, request }) {
      const dataset = known(params.dataset)
      if (!dataset.scopes.some((type) => type === scope.type))
        throw new ApiError('datasetNotFound', undefined, `${dataset.name} is not a dataset of ${scope.type}s`)
      return await requests.run(accountId, async (pause) => {
        const { spools, settledFor, observeIngest } = logpush()
        await settledFor(scope, dataset.name)
        const spool = await spools.open(dataset.name, scope)
        const ingested = await ingest(request, spool, dataset, { pause })
        const { accepted, rejected, more_rejected = 0 } = ingested
        observeIngest?.(dataset.name, { accepted, rejected: rejected.length + more_rejected })
        const result = { ...ingested, rejected: [...rejected] }
        if (spool.cursors.length > 0) return result
        const message = `no enabled job takes ${dataset.name} of this ${scope.type}; the records were checked, but not stored`
        return new ApiResponse(result, { status: 202, messages: [{ code: NO_JOB, message }] })
      })
    },
  }),
])
