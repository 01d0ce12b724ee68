import { Type } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { orNull, strict } from '../../src/core/schema.js'
import { SinkError, type SinkResponse } from '../../src/core/sink.js'
import { DATASETS, parseLogpullOptions } from '../../pipelines/records/index.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { known } from './datasets.js'
import type { Parts } from './jobs.js'
import { Challenge, Destination, DestinationVerdict, LogpullOptions, Verdict } from './schemas.js'

const OWNERSHIP_FILE = 'ownership-challenge.txt'
const OnlyDestination = Type.Object({ destination_conf: Destination }, strict)

const rows = area<Parts>({ scopes: ['account', 'zone'], access: ACCESS.logpush, refusal: 'badLogpush' })

/** Checks of destinations and options, and proofs that the caller owns a destination. */
export const validation = rows.endpoints([
  rows.post('/logpush/ownership', {
    summary: 'Write a challenge to a destination that proves whose it is; valid for seven days',
    body: OnlyDestination,
    result: Type.Object({ filename: Type.String(), message: Type.String(), valid: Type.Boolean() }),
    async handle({ destinations, tokens }, { scope, body: { destination_conf: destination } }) {
      destinations.form(destination)
      const token = await tokens().issue(scope, destination)
      const filename = await destinations.with(destination, async (sink, signal) => {
        if (sink.put === undefined)
          throw new ApiError('badDestination', '/destination_conf', 'the destination takes no ownership challenge')
        return await sink.put(OWNERSHIP_FILE, token, signal)
      })
      return { filename, message: '', valid: true }
    },
  }),
  rows.post('/logpush/ownership/validate', {
    summary: 'Tell whether a challenge is one for this destination',
    body: Type.Object({ destination_conf: Destination, ownership_challenge: Challenge }, strict),
    result: Type.Object({ valid: Type.Boolean() }),
    handle: async ({ tokens }, { scope, body }) => ({
      valid: await tokens().valid(body.ownership_challenge, scope, body.destination_conf),
    }),
  }),
  rows.post('/logpush/validate/destination', {
    summary: 'Try a destination out',
    body: OnlyDestination,
    result: DestinationVerdict,
    async handle({ destinations }, { body: { destination_conf: destination } }) {
      let response: SinkResponse | undefined
      const judged = await verdict(
        async () => {
          destinations.form(destination)
          response = await destinations.reach(destination)
        },
        (failed) => (response = failed && destinations.shown(failed, destination)),
      )
      return { ...judged, edged: { status: response?.status ?? null, body: response?.body ?? null } }
    },
  }),
  rows.post('/logpush/validate/destination/exists', {
    permissions: ACCESS.logpush.read,
    summary: 'Tell whether a job pushes to this destination already',
    body: OnlyDestination,
    result: Type.Object({ exists: Type.Boolean() }),
    handle({ repository, destinations }, { scope, body: { destination_conf: destination } }) {
      destinations.form(destination)
      return {
        exists: repository.list(scope).some((job) => repository.plain(scope, job).destination_conf === destination),
      }
    },
  }),
  rows.post('/logpush/validate/origin', {
    permissions: ACCESS.logpush.read,
    summary: 'Tell whether logpull_options fit a dataset, http_requests unless said',
    body: Type.Object(
      { logpull_options: orNull(LogpullOptions), dataset: Type.Optional(Type.Enum([...DATASETS.keys()])) },
      strict,
    ),
    result: Verdict,
    handle: async (_, { body: { logpull_options, dataset = 'http_requests' } }) =>
      await verdict(() => void parseLogpullOptions(known(dataset), logpull_options ?? '')),
  }),
])

/** Returns the issues of the input as a response instead of an error. Throws errors that do not concern the input. */
async function verdict(
  check: () => void | Promise<void>,
  failed: (response: SinkResponse | undefined) => void = () => {},
): Promise<{ valid: boolean; message: string }> {
  try {
    await check()
    return { valid: true, message: '' }
  } catch (error) {
    if (error instanceof InvalidInput)
      return { valid: false, message: error.issues.map(({ message }) => message).join('; ') }
    if (!(error instanceof ApiError) || error.kind !== 'badDestination') throw error
    if (error.cause instanceof SinkError) failed(error.cause.response)
    return { valid: false, message: error.message }
  }
}
