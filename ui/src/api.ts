const PREFIX = '/client/v4'
const STORED_TOKEN = 'edged.token'

/** One error of the API. */
export interface ApiIssue {
  readonly code: number
  readonly message: string
  readonly source?: { readonly pointer?: string }
}

/** A request that the API rejected, or that did not reach it. */
class ApiFailure extends Error {
  readonly status: number
  readonly issues: readonly ApiIssue[]

  constructor(status: number, issues: readonly ApiIssue[]) {
    super(issues.map(({ message, source }) => (source?.pointer ? `${source.pointer}: ${message}` : message)).join('; '))
    this.status = status
    this.issues = issues
  }
}

interface Envelope<T> {
  readonly success: boolean
  readonly result: T
  readonly errors: readonly ApiIssue[]
  readonly messages: readonly ApiIssue[]
}

// In memory only: a reload of the page asks again, unless the user chose the storage of the tab.
let token = sessionStorage.getItem(STORED_TOKEN) ?? ''
let onSignedOut: (reason?: string) => void = () => undefined

export const isSignedIn = (): boolean => token !== ''

/** Calls `listener` when the user signs out, or with a reason when the API no longer accepts the token. */
export function whenSignedOut(listener: (reason?: string) => void): void {
  onSignedOut = listener
}

/** Checks a token and uses it from now on. `remember`: stores it until the tab is closed. */
export async function signIn(given: string, remember: boolean): Promise<void> {
  token = given.trim()
  try {
    // The API also responds to tokens that it accepts for nothing else.
    const { status } = await get<{ status: string }>('/user/tokens/verify')
    if (status !== 'active') throw new Error(`this token is ${status}`)
  } catch (error) {
    token = ''
    throw error
  }
  if (remember) sessionStorage.setItem(STORED_TOKEN, token)
}

export function signOut(reason?: string): void {
  token = ''
  sessionStorage.removeItem(STORED_TOKEN)
  onSignedOut(reason)
}

/** Sends a request to the API and returns its result. Throws {@link ApiFailure}. */
async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await sendWhole<T>(method, path, body)).result
}

/** The same with the notices of the response, for example about members without effect. */
export async function sendWhole<T>(method: string, path: string, body?: unknown): Promise<Envelope<T>> {
  let response
  try {
    response = await fetch(PREFIX + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch {
    throw new ApiFailure(0, [{ code: 0, message: 'the daemon does not respond' }])
  }
  const envelope = (await response.json().catch(() => undefined)) as Envelope<T> | undefined
  if (response.ok && envelope?.success !== false) return envelope ?? ({ result: undefined, messages: [] } as never)
  if (response.status === 401 && token !== '') signOut('The API no longer accepts the token.')
  throw new ApiFailure(
    response.status,
    envelope?.errors ?? [{ code: response.status, message: `status ${response.status}` }],
  )
}

export const get = async <T>(path: string): Promise<T> => await send<T>('GET', path)
export const post = async <T>(path: string, body: unknown = {}): Promise<T> => await send<T>('POST', path, body)
export const put = async <T>(path: string, body: unknown): Promise<T> => await send<T>('PUT', path, body)
export const patch = async <T>(path: string, body: unknown): Promise<T> => await send<T>('PATCH', path, body)
export const remove = async (path: string): Promise<void> => await send('DELETE', path)

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
