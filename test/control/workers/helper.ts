import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import Cloudflare from 'cloudflare'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { parser } from '../../../src/core/schema.js'
import type { WorkersConfig } from '../../../src/config/schema.js'
import { Workers } from '../../../src/config/workers.js'
import { workers } from '../../../control/workers/index.js'
import { Tails } from '../../../control/workers/services/tail-sessions.js'
import { account } from '../../../src/core/scope.js'
import type { StoredVersion } from '../../../src/core/model/worker.js'
import { memoryBlobs } from '../../../src/store/blobs/memory-blobs.js'
import { CodeReader } from '../../../src/workers/code/reader.js'
import { ScriptRepository, type VersionDraft } from '../../../src/workers/script-repository.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import type { Store } from '../../../src/core/store.js'
import { uploadsOver } from '../../helpers/deployed-assets.js'
import { ACCOUNT, ADMIN, client, handClock, type Client } from '../client.js'

export interface WorkersClient extends Client {
  readonly cf: Cloudflare
  readonly repository: ScriptRepository
  tails(): Tails
  /** Stores a version of a script, and deploys it, without an upload. */
  script(name: string, draft?: Partial<VersionDraft>, deploy?: boolean): Promise<StoredVersion>
}

/** The configuration's defaults. */
const workersConfig = (): WorkersConfig => parser(Workers, { defaults: true })({})

/** The API of the Workers area alone, over a memory store. */
export async function workersClient(t: Test, options: Parameters<typeof client>[1] = {}): Promise<WorkersClient> {
  const { clock = handClock() } = options
  const blobs = memoryBlobs(clock)
  const config = workersConfig()
  let repository: ScriptRepository | undefined
  let tails: Tails | undefined
  const repositoryOf = (store: Store): ScriptRepository =>
    (repository ??= new ScriptRepository({ store, blobs, vault, clock, keep: () => config.retention }))
  const vault = new Keyring([randomBytes(32)])
  const api = await client(t, {
    ...options,
    clock,
    upgrades: () => (tails ? [tails] : []),
    areas(deps) {
      const made = (tails = new Tails({ store: deps.store, clock }))
      t.teardown(() => made.close())
      return workers({
        ...deps,
        workers: () => ({
          vault,
          blobs,
          repository: repositoryOf(deps.store),
          assets: uploadsOver(deps.store, blobs, clock),
          runtime: undefined,
          code: new CodeReader(),
          tails: made,
          uploads: new MemoryBudget(Infinity),
          limits: () => config,
        }),
      })
    },
  })
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  const made = repositoryOf(api.store)
  return {
    ...api,
    cf,
    repository: made,
    tails() {
      if (!tails) throw new Error('the area was not asked for')
      return tails
    },
    async script(name, draft = {}, deploy = true) {
      const scope = account(ACCOUNT)
      const bytes = Buffer.from(`export default { fetch() { return new Response('${name}') } }\n`)
      const [module] = await made.putModules([{ name: 'index.js', type: 'application/javascript+module', bytes }])
      const { version } = await made.saveVersion({
        scope,
        name,
        before: made.script(scope, name),
        draft: {
          author: { id: 'test' },
          source: 'api',
          annotations: {},
          format: 'modules',
          main: 'index.js',
          modules: module ? [module] : [],
          etag: 'e'.repeat(64),
          handlers: ['fetch'],
          named: [],
          startup_time_ms: 0,
          bindings: [],
          compatibility_flags: [],
          usage_model: 'standard',
          metadata: {},
          ...draft,
        },
        ...(deploy && { deploy: { source: 'api', author_email: '', annotations: {} } }),
        audit: () => ({
          at: '',
          actor: { type: 'test', id: '' },
          action: 'create',
          resource: { kind: 'worker_script', scope, id: name },
          requestId: '',
          before: null,
          after: null,
        }),
      })
      return version
    },
  }
}
