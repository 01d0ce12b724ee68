import { Type } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { orNull, strict } from '../../src/core/schema.js'
import { DATASETS, parseLogpullOptions } from '../../pipelines/records/index.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { known } from './datasets.js'
import type { Parts } from './jobs.js'
import { Challenge, Destination, LogpullOptions, Verdict } from './schemas.js'

const scopes = ['account', 'zone'] as const
const OWNERSHIP_FILE = 'ownership-challenge.txt'
const OnlyDestination = Type.Object({ destination_conf: Destination }, strict)

/** Checks of destinations and options, and proofs that the caller owns a destination. */
export function validation(deps: Parts): Endpoint[] {
  return [
    validateOwnership(deps),
    askOwnership(deps),
    validateDestination(deps),
    destinationExists(deps),
    validateOrigin(),
  ]
}

function validateOwnership({ destinations, tokens }: Parts): Endpoint {
  return endpoint({
    method: 'post',
    path: '/logpush/ownership',
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Write a challenge to a destination that proves whose it is; valid for seven days',
    body: OnlyDestination,
    result: Type.Object({ filename: Type.String(), message: Type.String(), valid: Type.Boolean() }),
    refusal: 'badLogpush',
    async handle({ scope, body: { destination_conf: destination } }) {
      destinations.form(destination)
      const token = await tokens().issue(scope, destination)
      const filename = await destinations.with(destination, async (sink, signal) => {
        if (sink.put === undefined)
          throw new ApiError('badDestination', '/destination_conf', 'the destination takes no ownership challenge')
        return await sink.put(OWNERSHIP_FILE, token, signal)
      })
      return { filename, message: '', valid: true }
    },
  })
}

function askOwnership({ tokens }: Parts): Endpoint {
  return endpoint({
    method: 'post',
    path: '/logpush/ownership/validate',
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Tell whether a challenge is one for this destination',
    body: Type.Object({ destination_conf: Destination, ownership_challenge: Challenge }, strict),
    result: Type.Object({ valid: Type.Boolean() }),
    refusal: 'badLogpush',
    handle: async ({ scope, body }) => ({
      valid: await tokens().valid(body.ownership_challenge, scope, body.destination_conf),
    }),
  })
}

function validateDestination({ destinations }: Parts): Endpoint {
  return endpoint({
    method: 'post',
    path: '/logpush/validate/destination',
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Try a destination out',
    body: OnlyDestination,
    result: Verdict,
    refusal: 'badLogpush',
    handle: async ({ body: { destination_conf: destination } }) =>
      await verdict(async () => {
        destinations.form(destination)
        await destinations.reach(destination)
      }),
  })
}

function destinationExists({ repository, destinations }: Parts): Endpoint {
  return endpoint({
    method: 'post',
    path: '/logpush/validate/destination/exists',
    scopes,
    permissions: ACCESS.logpush.read,
    summary: 'Tell whether a job pushes to this destination already',
    body: OnlyDestination,
    result: Type.Object({ exists: Type.Boolean() }),
    refusal: 'badLogpush',
    handle({ scope, body: { destination_conf: destination } }) {
      destinations.form(destination)
      return {
        exists: repository.list(scope).some((job) => repository.plain(scope, job).destination_conf === destination),
      }
    },
  })
}

function validateOrigin(): Endpoint {
  return endpoint({
    method: 'post',
    path: '/logpush/validate/origin',
    scopes,
    permissions: ACCESS.logpush.read,
    summary: 'Tell whether logpull_options fit a dataset, http_requests unless said',
    body: Type.Object(
      { logpull_options: orNull(LogpullOptions), dataset: Type.Optional(Type.Enum([...DATASETS.keys()])) },
      strict,
    ),
    result: Verdict,
    refusal: 'badLogpush',
    handle: async ({ body: { logpull_options, dataset = 'http_requests' } }) =>
      await verdict(() => void parseLogpullOptions(known(dataset), logpull_options ?? '')),
  })
}

/** Returns the issues of the input as a response instead of an error. Throws errors that do not concern the input. */
async function verdict(check: () => void | Promise<void>): Promise<{ valid: boolean; message: string }> {
  try {
    await check()
    return { valid: true, message: '' }
  } catch (error) {
    if (error instanceof InvalidInput)
      return { valid: false, message: error.issues.map(({ message }) => message).join('; ') }
    if (error instanceof ApiError && error.kind === 'badDestination') return { valid: false, message: error.message }
    throw error
  }
}
