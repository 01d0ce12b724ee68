import { KeyedEdits } from './keyed-edits.js'
import type { Endpoint } from './endpoint.js'
import { WebhookBook } from './webhooks/book.js'
import type { PostureDeps } from './webhooks/engine.js'
import { findings } from './webhooks/findings.js'
import { ingest } from './webhooks/ingest.js'
import { jobs } from './webhooks/jobs.js'
import { policies } from './webhooks/policies.js'
import { webhooks } from './webhooks/webhooks.js'

/** Posture findings, policies, and the webhooks that they are sent to. */
export function posture(deps: PostureDeps): Endpoint[] {
  const book = new WebhookBook(deps)
  const edits = new KeyedEdits()
  return [
    ...webhooks(deps, book),
    ...jobs(deps, book),
    ...ingest(deps, edits),
    ...findings(deps, book, edits),
    ...policies(deps, book),
  ]
}
