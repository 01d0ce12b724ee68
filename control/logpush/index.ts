import type { Endpoint } from '../http/endpoint.js'
import { datasetInfos } from './dataset-infos.js'
import { datasets } from './datasets.js'
import { deadLetters } from './dead-letters.js'
import { DestinationCheck } from './destination-check.js'
import { edgeJobs } from './edge-jobs.js'
import { lags } from './lag.js'
import type { LogpushDeps } from './services.js'
import { JobRepository } from './job-repository.js'
import { jobs, type Parts } from './jobs.js'
import { OwnershipTokens } from './ownership-token.js'
import { pipelines } from './pipelines.js'
import { pull } from './pull.js'
import { records } from './records.js'
import { shownDestinations } from './shown-destinations.js'
import { tail } from './tail.js'
import { validation } from './validate.js'

/** Log push: jobs and their destinations, datasets, live records, and the way in for records. */
export function logpush(deps: LogpushDeps): Endpoint[] {
  const parts: Parts = {
    repository: new JobRepository(deps),
    destinations: new DestinationCheck(() => deps.logpush().destinations),
    tokens: () => new OwnershipTokens(deps.logpush().challengeKeys(), deps.clock),
  }
  return [
    ...jobs(deps, parts),
    ...deadLetters(deps, parts.repository),
    ...lags(deps, parts.repository),
    ...shownDestinations(deps, parts.repository),
    ...datasets(parts.repository),
    ...datasetInfos(),
    ...validation(parts),
    ...edgeJobs(deps),
    ...records(deps),
    ...pipelines(deps),
    ...tail(deps),
    ...pull(deps),
  ]
}
