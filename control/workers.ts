import { KeyedEdits } from './keyed-edits.js'
import type { Endpoint } from './endpoint.js'
import type { ControlDeps } from './state.js'
import { storage } from './storage.js'
import { accountSettings } from './workers/account-settings.js'
import { assets } from './workers/assets.js'
import { content } from './workers/content.js'
import { contentUpdate } from './workers/content-update.js'
import { deployments } from './workers/deployments.js'
import { domains } from './workers/domains.js'
import type { WorkersDeps, WorkersEngine } from './workers/engine.js'
import { routes } from './workers/routes.js'
import { schedules } from './workers/schedules.js'
import { scripts } from './workers/scripts.js'
import { secrets } from './workers/secrets.js'
import { scriptSettings } from './workers/settings.js'
import { subdomains } from './workers/subdomains.js'
import { tails } from './workers/tails.js'
import { upload } from './workers/upload.js'
import { versionSettings } from './workers/version-settings.js'
import { versions } from './workers/versions.js'
import { workerVersions } from './workers/worker-versions.js'
import { workersAsSuch } from './workers/workers.js'

type Area = (deps: WorkersDeps) => Endpoint[]

const AREAS: readonly Area[] = [
  upload,
  assets,
  scripts,
  workersAsSuch,
  workerVersions,
  content,
  contentUpdate,
  scriptSettings,
  versionSettings,
  versions,
  deployments,
  secrets,
  subdomains,
  routes,
  domains,
  schedules,
  tails,
  accountSettings,
  (deps) => storage({ ...deps, blobs: () => deps.workers().blobs }),
]

/** Worker scripts and all that belongs to them. */
export function workers(deps: ControlDeps & { readonly workers: () => WorkersEngine }): Endpoint[] {
  const shared: WorkersDeps = { ...deps, edits: new KeyedEdits() }
  return AREAS.flatMap((area) => area(shared))
}
