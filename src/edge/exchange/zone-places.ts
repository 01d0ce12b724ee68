import type { ZoneConfig } from '../../config/schema.js'
import { Balancer, type Balancers, type BalancerOptions } from '../balancing/balancer.js'
import type { AuthOptions } from './auth-options.js'
import { placesOf, type Place, type Places } from './paths.js'

type PathConfig = ZoneConfig['paths'][number]
type AuthConfig = Exclude<ZoneConfig['auth'], undefined>

/** Returns the options about origins of a zone or of one of its paths. */
export function originOptions(
  { origin, origins }: Pick<ZoneConfig, 'origin' | 'origins'>,
  { balance, retries, health }: Pick<BalancerOptions, 'balance' | 'retries' | 'health'>,
): BalancerOptions {
  const single = [{ url: origin ?? '', weight: 1, backup: false }]
  const peers: readonly { url: string; weight: number; backup: boolean; connections?: number }[] = origins ?? single
  return {
    peers: peers.map((peer) => ({ ...peer, url: peer.url.replace(/\/$/, ''), connections: peer.connections })),
    balance,
    retries,
    health,
  }
}

/** Returns the places of a zone, or undefined if its origins serve every path to everybody. */
export function zonePlaces(
  config: ZoneConfig,
  balancer: Balancer,
  balancers: Pick<Balancers, 'of'> = { of: (_, options) => new Balancer(options) },
): Places | undefined {
  const { paths, root, auth } = config
  if (paths.length === 0 && root === undefined && !auth) return undefined
  const rest: Place = { balancer, root: folderOf(root), auth: authOf(auth), strip: undefined }
  return placesOf(
    paths.map((path) => [path.path, placeOf(path, config, rest, balancers)] as const),
    rest,
  )
}

function placeOf(path: PathConfig, config: ZoneConfig, rest: Place, balancers: Pick<Balancers, 'of'>): Place {
  const { origin, origins, root, auth } = path
  const isOwn = origin !== undefined || origins !== undefined
  const changes = isOwn || path.balance !== undefined || path.retries !== undefined || path.health !== undefined
  const options = () =>
    originOptions(isOwn ? path : config, {
      balance: path.balance ?? config.balance,
      retries: path.retries ?? config.retries,
      health: path.health ?? config.health,
    })
  return {
    balancer: changes ? balancers.of(`${config.id} ${path.path}`, options()) : rest.balancer,
    root: root !== undefined ? folderOf(root) : isOwn ? undefined : rest.root,
    auth: auth === undefined ? rest.auth : authOf(auth),
    strip: path.strip_prefix?.replace(/\/+$/, '') || undefined,
  }
}

const folderOf = (root: ZoneConfig['root']): Place['root'] =>
  root === undefined
    ? undefined
    : typeof root === 'string'
      ? { folder: root, html: 'auto-trailing-slash' }
      : { folder: root.folder, html: root.html ?? 'auto-trailing-slash' }

function authOf(auth: AuthConfig | undefined): AuthOptions | undefined {
  if (!auth) return undefined
  const { basic, forward } = auth
  if (basic) return { basic: { realm: basic.realm ?? 'Restricted', file: basic.users_file, users: basic.users ?? {} } }
  if (!forward) return undefined
  return {
    forward: { ...targetOf(forward.url), copy: (forward.copy ?? []).map((name) => name.toLowerCase()) },
  }
}

/** Splits a URL into the origin and the path with the query. */
function targetOf(url: string): { origin: string; target: string } {
  const [, socket, path] = /^(unix:\/[^:]+)(?::(.*))?$/.exec(url) ?? []
  if (socket !== undefined) return { origin: socket, target: path || '/' }
  const { origin, pathname, search } = new URL(url)
  return { origin, target: pathname + search }
}
