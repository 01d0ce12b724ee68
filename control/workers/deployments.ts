import { isDeepStrictEqual } from 'node:util'
import { Type, type Static } from 'typebox'
import { WORKER_DEPLOYMENTS, WORKER_SCRIPTS, type StoredVersion } from '../../src/core/model/worker.js'
import { mapOf, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { canonicalBase } from '../../src/workers/assets/site.js'
import { applyDeployment } from '../../src/workers/durable/apply-deployment.js'
import { isSecret } from '../../src/workers/secrets.js'
import { keptAnnotations } from '../../src/workers/metadata/check.js'
import { audit, audited } from '../resources/audit.js'
import { area, type ServicesOf } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { withApiErrors } from './services/api-errors.js'
import { stopped } from './services/running.js'
import { clientOf } from './services/request.js'
import { deploymentResponse } from './response-shapes.js'

const PATH = '/workers/scripts/:script_name/deployments'

const Deployment = Type.Object({
  id: Type.String(),
  created_on: Type.String(),
  source: Type.String(),
  strategy: Type.Literal('percentage'),
  author_email: Type.String(),
  annotations: mapOf(Type.String()),
  versions: Type.Array(Type.Object({ version_id: Type.String(), percentage: Type.Number() })),
})
const Force = Type.Object({
  force: Type.Boolean({ default: false, description: 'Even an older version whose secrets have changed since.' }),
})
const NewDeployment = Type.Object(
  {
    strategy: Type.Literal('percentage'),
    versions: Type.Array(
      Type.Object({ version_id: Type.String(), percentage: Type.Number({ minimum: 0, maximum: 100 }) }, strict),
      { minItems: 1, maxItems: 2, description: 'The percentages add up to 100.' },
    ),
    annotations: Type.Optional(mapOf(Type.String())),
    code_update_strategy: Type.Optional(
      Type.Object({}, { description: 'Ignored: a deployment is in force immediately.' }),
    ),
  },
  strict,
)

type Services = ServicesOf<typeof rows>
const rows = area({ scopes, access: ACCESS.workers, refusal: 'badDeployment' }, (deps: WorkersDeps) => {
  const { store, clock, edits } = deps
  /** Rejects versions that must not serve side by side, and versions whose secrets differ from the current secrets. */
  const assertFits = (
    scope: Scope,
    wanted: readonly StoredVersion[],
    now: StoredVersion | undefined,
    force: boolean,
  ) => {
    const [first, second] = wanted
    if (first && second && !isDeepStrictEqual(objectsOf(first), objectsOf(second)))
      throw new ApiError('mixedExports', '/versions')
    if (new Set(wanted.flatMap(basePathOf)).size > 1)
      throw new ApiError('badDeployment', '/versions', 'versions that share requests have one assets.config.base_path')
    if (force || !now) return
    const secrets = (version: StoredVersion) =>
      deps
        .workers()
        .repository.openBindings(scope, version)
        .filter(isSecret)
        .map((binding) => JSON.stringify(binding))
        .sort()
    const today = secrets(now)
    const changed = wanted.findIndex((one) => one.number < now.number && !isDeepStrictEqual(secrets(one), today))
    if (changed >= 0) throw new ApiError('secretsChanged', `/versions/${changed}/version_id`)
  }
  return { deps, store, clock, edits, assertFits }
})

/** Which versions of a script serve requests. */
export const deployments = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the deployments of a script, newest first',
    result: Type.Object({ deployments: Type.Array(Deployment) }),
    handle({ deps, store }, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const found = script.deployments.flatMap((id) => store.get(WORKER_DEPLOYMENTS, scope, id)?.value ?? [])
      return new ApiResponse(
        { deployments: found.map(deploymentResponse) },
        { messages: stopped(deps.workers(), scope, script.name) },
      )
    },
  }),
  rows.post(PATH, {
    summary: 'Deploy one version of a script, or two with a share each',
    query: Force,
    body: NewDeployment,
    result: Deployment,
    handle: async (services, call) => await deploy(services, call),
  }),
  rows.get(`${PATH}/:deployment_id`, {
    summary: 'Read a deployment',
    result: Deployment,
    handle({ deps, store }, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const found = script.deployments.includes(params.deployment_id)
        ? store.get(WORKER_DEPLOYMENTS, scope, params.deployment_id)?.value
        : undefined
      if (!found) throw new ApiError('deploymentNotFound')
      const isCurrent = script.deployments[0] === found.id
      return new ApiResponse(deploymentResponse(found), {
        messages: isCurrent ? stopped(deps.workers(), scope, script.name) : [],
      })
    },
  }),
  rows.delete(`${PATH}/:deployment_id`, {
    summary: 'Delete a deployment that is no longer in force',
    bare: true,
    async handle({ deps, store, clock, edits }, call) {
      const { scope, params } = call
      const id = params.deployment_id
      await edits.run(scope.id, async () => {
        const { value: before, version } = scriptOf(deps, scope, params.script_name)
        const at = before.deployments.indexOf(id)
        if (at < 0) throw new ApiError('deploymentNotFound')
        if (at === 0) throw new ApiError('badDeployment', undefined, 'the deployment is in force')
        const after = { ...before, deployments: before.deployments.filter((one) => one !== id) }
        await store.batch(
          ...audited(clock, call, { kind: WORKER_SCRIPTS, scope, id: before.name, before, after, ifVersion: version }, [
            { kind: WORKER_DEPLOYMENTS, scope, id, value: undefined },
          ]),
        )
      })
    },
  }),
])

async function deploy(
  { deps, store, clock, edits, assertFits }: Services,
  call: Call<'script_name', Static<typeof NewDeployment>, Static<typeof Force>>,
): Promise<ApiResponse<Static<typeof Deployment>>> {
  const { scope, params, body, query, caller } = call
  const { repository } = deps.workers()
  return await edits.run(scope.id, async () => {
    const before = scriptOf(deps, scope, params.script_name)
    const wanted = wantedVersions(body.versions, (id) =>
      before.value.versions.includes(id) ? repository.readVersion(scope, before.value, id) : undefined,
    )
    assertFits(scope, wanted, repository.readVersion(scope, before.value, 'deployed'), query.force)
    const settled = await withApiErrors(() =>
      applyDeployment(store, scope, {
        before: before.value,
        versions: wanted,
        pointer: (at) => `/versions/${at}/version_id`,
      }),
    )
    const source = clientOf(call.request)
    const { deployment } = await repository.saveDeployment({
      scope,
      before,
      versions: body.versions,
      change: { declarative: settled.declarative, last_deployed_from: source },
      writes: settled.writes,
      note: { source, author_email: caller.email ?? '', annotations: keptAnnotations(body.annotations) },
      audit: (old, after) => audit(clock, call, { kind: WORKER_SCRIPTS, scope, id: after.name, before: old, after }),
    })
    await deps.workers().runtime?.applied(scope)
    const messages = stopped(deps.workers(), scope, before.value.name)
    return new ApiResponse(deploymentResponse(deployment), { messages })
  })
}

/** Returns the versions that a deployment names. Throws if the shares are not 100 %, or a version is unknown or repeated. */
function wantedVersions(
  versions: Static<typeof NewDeployment>['versions'],
  read: (id: string) => StoredVersion | undefined,
): StoredVersion[] {
  const sum = versions.reduce((total, { percentage }) => total + percentage, 0)
  if (Math.abs(sum - 100) > 1e-6)
    throw new ApiError('badDeployment', '/versions', `the percentages make ${sum}, not 100`)
  return versions.map(({ version_id }, at) => {
    const version = read(version_id)
    if (!version) throw new ApiError('scriptVersionNotFound', `/versions/${at}/version_id`)
    if (versions.findIndex((one) => one.version_id === version_id) < at)
      throw new ApiError('badDeployment', `/versions/${at}/version_id`, 'is given twice')
    return version
  })
}

const basePathOf = ({ assets }: StoredVersion): string[] => (assets ? [canonicalBase(assets.config)] : [])

/** Returns the Durable Object classes that a version declares. */
const objectsOf = ({ exports = {} }: StoredVersion) =>
  Object.fromEntries(Object.entries(exports).filter(([, { type }]) => type === 'durable-object'))
