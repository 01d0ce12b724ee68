import { KeyedEdits } from '../resources/keyed-edits.js'
import type { Endpoint } from '../http/endpoint.js'
import { WebhookRepository } from './webhook-repository.js'
import type { PostureDeps } from './services.js'
import { findings } from './findings.js'
import { ingest } from './ingest.js'
import { jobs } from './jobs.js'
import { policies } from './policies.js'
import { webhooks } from './webhooks.js'

/** Posture findings, policies, and the webhooks that they are sent to. */
export function posture(deps: PostureDeps): Endpoint[] {
  const book = new WebhookRepository(deps)
  const edits = new KeyedEdits()
  return [
    ...webhooks(deps, book),
    ...jobs(deps, book),
    ...ingest(deps, edits),
    ...findings(deps, book, edits),
    ...policies(deps, book),
  ]
}
