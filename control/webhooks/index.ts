import { FindingIndex } from '../../src/webhooks/finding-index.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import type { Endpoint } from '../http/endpoint.js'
import { WebhookRepository } from './webhook-repository.js'
import type { PostureDeps } from './services.js'
import { FindingBatches } from './finding-batches.js'
import { findingTypes } from './finding-types.js'
import { content } from './content.js'
import { findingExports } from './exports.js'
import { findings } from './findings.js'
import { ingest } from './ingest.js'
import { integrations } from './integrations.js'
import { jobs } from './jobs.js'
import { policies } from './policies.js'
import { signingSecrets } from './signing-secrets.js'
import { webhooks } from './webhooks.js'

/** Endpoints of posture findings, policies, webhooks and deliveries. */
export function posture(deps: PostureDeps): Endpoint[] {
  const repository = new WebhookRepository(deps)
  const edits = new KeyedEdits()
  const index = new FindingIndex(deps.store)
  return [
    ...webhooks(deps, repository),
    ...signingSecrets(),
    ...jobs(deps, repository),
    ...ingest(deps, new FindingBatches(deps, edits)),
    ...findings(deps, repository, edits, index),
    ...findingExports(deps, index),
    ...content(deps, index),
    ...integrations(deps),
    ...findingTypes(deps),
    ...policies(deps, repository),
  ]
}
