import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { Auth } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Locations } from './locations.js'
import type { Scope } from './scope.js'
import type { Upstreams } from './upstreams.js'

const BCRYPT = /^\$2[abxy]\$(0[4-9]|1[0-9])\$[./A-Za-z0-9]{53}$/
/** Larger files of users are not looked at. */
const MAX_USERS = 1024 * 1024

interface AccessDeps {
  readonly report: Report
  readonly upstreams: Upstreams
  readonly locations: Locations
  /** Folder of the main file, to which paths are relative. */
  readonly folder: string
}

/** Returns who gets into a location. False: everybody. */
export function authOf(scope: Scope, deps: AccessDeps): Auth | false {
  const forward = scope.one('auth_request')
  const basic = scope.one('auth_basic')
  const { report } = deps
  if (forward && forward.args[0] !== 'off') {
    if (basic && basic.args[0] !== 'off')
      report.add(basic.place, 'auth_basic', 'edged asks the service of auth_request alone here')
    return forwardAuth(scope, deps)
  }
  if (!basic || basic.args[0] === 'off') return false
  const file = scope.one('auth_basic_user_file')
  if (!file) {
    report.add(basic.place, 'auth_basic', 'there is no auth_basic_user_file; nobody gets in')
    return { basic: { realm: basic.args[0] ?? 'Restricted', users: {} } }
  }
  const path = isAbsolute(file.args[0] ?? '') ? file.args[0]! : resolve(deps.folder, file.args[0] ?? '')
  for (const name of usersWithoutBcrypt(path))
    report.add(
      file.place,
      `user ${name} of ${path}`,
      'the hash is not bcrypt; write it again with: htpasswd -B FILE NAME',
    )
  return { basic: { realm: basic.args[0] ?? 'Restricted', users_file: path } }
}

/** Returns the names of a file of users whose hashes edged cannot compare. */
function usersWithoutBcrypt(path: string): string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8').slice(0, MAX_USERS)
  } catch {
    return []
  }
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.trim().split(':'))
    .filter(([, hash = '']) => !BCRYPT.test(hash))
    .map(([name = '']) => name)
}

function forwardAuth(scope: Scope, { report, upstreams, locations }: AccessDeps): Auth {
  const directive = scope.one('auth_request')!
  const [path = ''] = directive.args
  const location = locations.find(path)
  const pass = location?.scope.one('proxy_pass')
  const found = pass && upstreams.proxied(pass.args[0] ?? '', pass.place, `proxy_pass ${pass.args[0]}`)
  const copy = copiedFields(scope, report)
  const origin = found && (found.target.origin ?? found.target.origins?.[0]?.url)
  if (origin === undefined) {
    report.add(
      directive.place,
      `auth_request ${path}`,
      'edged asks an http or https service; nobody gets in until `url` names one',
    )
    return { forward: { url: 'http://127.0.0.1:9/', copy } }
  }
  for (const { args, place } of location!.scope.all('proxy_set_header'))
    if (/^x-original-/i.test(args[0] ?? ''))
      report.add(
        place,
        `proxy_set_header ${args.join(' ')}`,
        'the service gets X-Forwarded-Method, -Proto, -Host and -Uri instead',
      )
  const target = found!.uri ?? path
  return {
    forward: {
      url: origin.startsWith('unix:') ? `${origin}:${target}` : `${origin}${target}`,
      ...(copy.length > 0 && { copy }),
    },
  }
}

/** Returns the header fields that the origin gets from the response of the service. */
function copiedFields(scope: Scope, report: Report): string[] {
  const sent = new Map(scope.all('proxy_set_header').map(({ args }) => [args[1], args[0] ?? '']))
  return scope.all('auth_request_set').flatMap(({ args: [variable = '', source = ''], place }) => {
    const [, name = ''] = /^\$upstream_http_(\w+)$/.exec(source) ?? []
    const field = sent.get(variable)
    if (field !== undefined && field.toLowerCase().replaceAll('-', '_') === name) return [field.toLowerCase()]
    report.add(
      place,
      `auth_request_set ${variable}`,
      'the origin gets fields of the response under the same name alone (`copy`)',
    )
    return []
  })
}
