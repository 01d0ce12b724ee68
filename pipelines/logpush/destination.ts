import { InvalidInput } from '../../src/core/errors.js'
import { LOGPUSH_JOBS, type LogpushJob } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import { secretOf, type Vault } from '../../src/core/vault.js'

/** Advice for a destination that none of the keys decrypts. */
export const LOST_KEY =
  'cannot be opened with the keys that are configured: name its key in secrets.old_keys, or set destination_conf anew'

/** The destination of a stored job, in the clear. Throws InvalidInput if none of the keys opens it. */
export function destinationOf(
  { destination_conf }: Pick<LogpushJob, 'destination_conf'>,
  scope: Scope,
  id: string,
  vault: Vault,
): string {
  try {
    return vault.open(destination_conf.sealed, secretOf(LOGPUSH_JOBS, scope, id))
  } catch {
    throw new InvalidInput([{ pointer: '/destination_conf', message: LOST_KEY }])
  }
}
