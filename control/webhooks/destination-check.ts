import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { NotPublic, type Egress } from '../../src/egress/egress.js'
import { hostOf, portOf, publicUrl } from '../../src/egress/public-url.js'
import { ApiError } from '../http/errors.js'

const POINTER = '/destination_url'

/** What is wrong with a destination's URL by its form alone. */
export function urlIssues(text: string): readonly Issue[] {
  try {
    publicUrl(text)
    return []
  } catch (error) {
    if (error instanceof InvalidInput) return error.issues.map(({ message }) => ({ pointer: POINTER, message }))
    throw error
  }
}

/** Refuses a destination that is not publicly reachable now; its form has been checked. */
export async function assertReachable(egress: Pick<Egress, 'check'>, text: string): Promise<void> {
  const url = publicUrl(text)
  await notPublicHere(async () => await egress.check(hostOf(url), portOf(url)))
}

/** Does the work; a destination that may not be reached becomes the client's fault. */
export async function notPublicHere<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotPublic) throw new ApiError('badWebhook', POINTER, error.message)
    throw error
  }
}
