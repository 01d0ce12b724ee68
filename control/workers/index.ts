import { KeyedEdits } from '../resources/keyed-edits.js'
import type { Endpoint } from '../http/endpoint.js'
import type { ControlDeps } from '../http/context.js'
import { Databases } from '../../src/workers/runtime/databases.js'
import { sealedStorage, storage } from '../storage/index.js'
import { accountSettings } from './account-settings.js'
import { assets } from './assets.js'
import { content } from './content.js'
import { contentUpdate } from './content-update.js'
import { dataHome } from './data-home.js'
import { deployments } from './deployments.js'
import { domains } from './domains.js'
import type { WorkersDeps, WorkersServices } from './services/index.js'
import { routes } from './routes.js'
import { schedules } from './schedules.js'
import { scripts } from './scripts.js'
import { secrets } from './secrets.js'
import { scriptSettings } from './settings.js'
import { subdomains } from './subdomains.js'
import { tails } from './tails.js'
import { upload } from './upload.js'
import { versionSettings } from './version-settings.js'
import { versions } from './versions.js'
import { workerVersions } from './worker-versions.js'
import { workersAsSuch } from './workers.js'

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
  dataHome,
  (deps) =>
    storage({
      ...deps,
      blobs: () => deps.workers().blobs,
      databases: () => databasesOf(deps),
    }),
  (deps) => sealedStorage({ ...deps, vault: () => deps.workers().vault }),
]

/** Worker scripts and all that belongs to them. */
export function workers(deps: ControlDeps & { readonly workers: () => WorkersServices }): Endpoint[] {
  const shared: WorkersDeps = { ...deps, edits: new KeyedEdits() }
  return AREAS.flatMap((area) => area(shared))
}

/** Databases run in the processes of Workers. */
function databasesOf({ workers, clock }: WorkersDeps): Databases | undefined {
  const { runtime } = workers()
  return runtime && new Databases(runtime, clock)
}
