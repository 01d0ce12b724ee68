import { Type } from 'typebox'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { JobRepository } from './job-repository.js'
import type { LogpushDeps } from './services.js'

const Shown = Type.Object({
  id: Type.Integer({ minimum: 1, description: 'The job.' }),
  destination_conf: Type.String({
    description: 'Without secrets; empty if no key of the section secrets decrypts it.',
  }),
})

/** Destinations of jobs for people to read. The jobs themselves have them as they were given, as in the public API. */
export function shownDestinations({ logpush }: LogpushDeps, repository: JobRepository): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/edged/destinations',
      scopes: ['account', 'zone'],
      permissions: ACCESS.logpush.read,
      summary: 'List the destinations of the log push jobs, without secrets',
      result: Type.Array(Shown),
      handle({ scope }) {
        const { destinations } = logpush()
        return whole(
          repository.list(scope).map((job) => {
            const { destination_conf: destination } = repository.plain(scope, job)
            return { id: job.id, destination_conf: destination === undefined ? '' : destinations.redact(destination) }
          }),
        )
      },
    }),
  ]
}
