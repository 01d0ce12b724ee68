import { Type } from 'typebox'
import { area } from '../http/area.js'
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

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.logpush },
  ({ logpush }: LogpushDeps, repository: JobRepository) => ({ logpush, repository }),
)

/** Destinations of jobs for people to read. The jobs themselves have them as they were given, as in the public API. */
export const shownDestinations = rows.endpoints([
  rows.get('/edged/destinations', {
    summary: 'List the destinations of the log push jobs, without secrets',
    result: Type.Array(Shown),
    handle({ logpush, repository }, { scope }) {
      const { destinations } = logpush()
      return whole(
        repository.list(scope).map((job) => {
          const { destination_conf: destination } = repository.plain(scope, job)
          return { id: job.id, destination_conf: destination === undefined ? '' : destinations.redact(destination) }
        }),
      )
    },
  }),
])
