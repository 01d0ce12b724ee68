import type { Endpoint } from './endpoint.js'
import { datasets } from './logpush/datasets.js'
import { DestinationCheck } from './logpush/destination-check.js'
import { edgeJobs } from './logpush/edge-jobs.js'
import type { LogpushDeps } from './logpush/engine.js'
import { JobBook } from './logpush/job-book.js'
import { jobs, type Parts } from './logpush/jobs.js'
import { OwnershipTokens } from './logpush/ownership-token.js'
import { records } from './logpush/records.js'
import { validation } from './logpush/validate.js'

/** Log push: jobs and their destinations, datasets, live records, and the way in for records. */
export function logpush(deps: LogpushDeps): Endpoint[] {
  const parts: Parts = {
    book: new JobBook(deps),
    destinations: new DestinationCheck(() => deps.logpush().destinations),
    tokens: () => new OwnershipTokens(deps.logpush().challengeKey, deps.clock),
  }
  return [...jobs(deps, parts), ...datasets(parts.book), ...validation(parts), ...edgeJobs(deps), ...records(deps)]
}
