import { assertNoIssues, issuesIn, type Issue } from '../../src/core/errors.js'
import type { Scope } from '../../src/core/scope.js'
import { compileJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { DATASETS, type FilterLimits } from '../../pipelines/records/index.js'
import type { GivenBody } from '../http/endpoint.js'
import type { ReadJob } from './services.js'

/**
 * Throws InvalidInput, with all that is wrong, for a job whose members fit their schema but not each other. `besides` are
 * issues that other checks found.
 */
export function checkJob(job: ReadJob, scope: Scope, limits: FilterLimits, besides: readonly Issue[]): void {
  const issues: Issue[] = []
  const { dataset, kind, max_upload_bytes } = job
  const scopes = DATASETS.get(dataset)?.scopes ?? []
  if (!scopes.some((type) => type === scope.type))
    issues.push({ pointer: '/dataset', message: `is for jobs of ${scopes.map((type) => `${type}s`).join(' and ')}` })
  if (kind === 'edge' && dataset !== 'http_requests')
    issues.push({ pointer: '/kind', message: 'edge is for http_requests only' })
  if (kind === 'edge' && max_upload_bytes)
    issues.push({ pointer: '/max_upload_bytes', message: 'is not for jobs of kind edge' })
  assertNoIssues([...issues, ...besides, ...issuesIn(() => compileJob(job, '', limits))])
}

/** Returns the issues of a job made of members that fit their schema. Its `output_options` are the ones in the body. */
export const furtherIssues = (
  job: ReadJob,
  given: GivenBody,
  scope: Scope,
  limits: FilterLimits,
  besides: readonly Issue[],
): readonly Issue[] => {
  const { output_options: options = job.output_options ?? null } = given
  const whole: ReadJob = { ...job, output_options: options as Readonly<Record<string, unknown>> | null }
  return issuesIn(() => checkJob(whole, scope, limits, besides))
}
