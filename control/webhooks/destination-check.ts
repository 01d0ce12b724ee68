import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { NotPublic, type Egress } from '../../src/egress/egress.js'
import { hostOf, portOf, publicUrl } from '../../src/egress/public-url.js'
import { ApiError } from '../http/errors.js'

const POINTER = '/destination_url'

/**
 * Returns the issues of the form of a destination URL. If there are none, returns an issue if its address is not
 * allowed.
 */
export async function urlIssues(egress: Pick<Egress, 'check'>, text: string): Promise<readonly Issue[]> {
  try {
    await assertReachable(egress, text)
    return []
  } catch (error) {
    if (error instanceof InvalidInput) return error.issues.map(({ message }) => ({ pointer: POINTER, message }))
    if (error instanceof ApiError) return [{ pointer: POINTER, message: error.message }]
    throw error
  }
}

/** Throws if a destination, whose form is checked already, has an address that is not allowed. */
export async function assertReachable(egress: Pick<Egress, 'check'>, text: string): Promise<void> {
  const url = publicUrl(text)
  await notPublicHere(async () => await egress.check(hostOf(url), portOf(url)))
}

/** Runs `work` and converts `NotPublic` to an API error. */
export async function notPublicHere<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotPublic) throw new ApiError('badWebhook', POINTER, error.message)
    throw error
  }
}
