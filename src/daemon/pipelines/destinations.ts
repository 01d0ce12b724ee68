import { checkDestination } from '../../../sinks/index.js'
import type { SinkDeps } from '../../../sinks/contract/sink-type.js'
import type { ConfigChecks } from '../../config/load.js'
import { locator } from './locator.js'
import { checkTransform } from './transforms.js'
import { certificateIssue } from '../../tls/certificates.js'
import { usersFileIssue } from '../../edge/auth/users.js'
import { programIssue } from '../../tls/acme/dns-command.js'
import { authorityIssue } from '../../tls/client-authority.js'
import type { Clock } from '../../core/clock.js'
import { InvalidInput } from '../../core/errors.js'
import { silentLog, type Log } from '../../core/log.js'
import { openMetrics } from '../../core/metrics/metrics.js'
import { parseAllowedTarget, type AllowedTarget } from '../../egress/addresses.js'
import { GuardedEgress, type EgressConfig } from '../../egress/guarded-egress.js'

/**
 * Returns the options for destinations of a pipeline file. The author of the file runs it, so private addresses, plain
 * HTTP, standard output and all folders are allowed.
 */
export function ownDestinations({ clock, log }: { clock: Clock; log: Log }, texts: readonly string[] = []): SinkDeps {
  return {
    egress: guarded({ allow_cidrs: [], resolver_overrides: {} }, [{ has: () => true }], log),
    allowPlainHttp: true,
    allowFileUnder: texts.flatMap(fileRoot),
    allowStdout: true,
    clock,
    log,
  }
}

function guarded(config: EgressConfig, allowedTargets: readonly AllowedTarget[], log: Log = silentLog): GuardedEgress {
  const rules = { config, allowedTargets, overrides: new Map(), ca: undefined, secureContext: undefined }
  return new GuardedEgress(rules, { log, metrics: openMetrics({ process: false }) })
}

/** Returns the folder of a file destination, up to its `{DATE}`; its owner is responsible for links on the path. */
function fileRoot(text: string): string[] {
  if (!/^file:/i.test(text) || !URL.canParse(text)) return []
  try {
    const [fixed = ''] = decodeURIComponent(new URL(text).pathname).split('{DATE}')
    return [fixed.slice(0, fixed.endsWith('/') ? -1 : undefined) || '/']
  } catch {
    // The check of the destination reports the error in its path.
    return []
  }
}

/** Returns the issues with the form of a destination. */
function issue(text: string, allowed: SinkDeps): string | undefined {
  try {
    checkDestination(text, allowed)
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return error.issues.map(({ message }) => message).join('; ')
  }
}

/** Returns the checks of configuration and pipeline files: destinations by their form, certificates by loading them. */
export function destinationChecks(deps: { clock: Clock; log: Log }): ConfigChecks {
  return {
    destination: (text) => issue(text, ownDestinations(deps, [text])),
    jobDestination: (text, { allow_plain_http: allowPlainHttp, allow_file_under: allowFileUnder, egress }) =>
      issue(text, {
        ...ownDestinations(deps),
        egress: guarded(
          egress,
          egress.allow_cidrs.flatMap((entry) => parseAllowedTarget(entry) ?? []),
        ),
        allowPlainHttp,
        allowFileUnder,
        allowStdout: false,
      }),
    locator,
    transform: checkTransform,
    certificate: certificateIssue,
    authority: authorityIssue,
    program: programIssue,
    usersFile: usersFileIssue,
  }
}
