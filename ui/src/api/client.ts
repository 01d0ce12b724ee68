const PREFIX = '/client/v4'
const STORED_TOKEN = 'edged.token'
/** Code of responses to tokens that are unknown, expired or disabled. */
const INVALID_TOKEN = 9109

/** One error of the API. */
export interface ApiIssue {
  readonly code: number
  readonly message: string
  readonly source?: { readonly pointer?: string }
  readonly meta?: Readonly<Record<string, unknown>>
}

/** A request that the API rejected, or that did not reach it (status 0). */
class ApiFailure extends Error {
  readonly status: number
  readonly issues: readonly ApiIssue[]

  constructor(status: number, issues: readonly ApiIssue[]) {
    super(issues.map(({ message, source }) => (source?.pointer ? `${source.pointer}: ${message}` : message)).join('; '))
    this.status = status
    this.issues = issues
  }
}

/** Page and size of a list. */
export interface ResultInfo {
  readonly page: number
  readonly per_page: number
  readonly total_count: number
  readonly total_pages: number
}

export interface Envelope<T> {
  readonly success: boolean
  readonly result: T
  readonly errors: readonly ApiIssue[]
  readonly messages: readonly ApiIssue[]
  readonly result_info?: ResultInfo
}

// In memory only: a reload of the page asks again, unless the user chose the storage of the tab.
let token = sessionStorage.getItem(STORED_TOKEN) ?? ''
let onSignedOut: (reason?: string) => void = () => undefined
const signedIn = new Set<() => void>()

export const isSignedIn = (): boolean => token !== ''

/** Calls `listener` when the user signs out, or with a reason when the API no longer accepts the token. */
export function whenSignedOut(listener: (reason?: string) => void): void {
  onSignedOut = listener
}

/** Calls `listener` after each time that a token was accepted. Returns how to stop that. */
export function whenSignedIn(listener: () => void): () => void {
  signedIn.add(listener)
  return () => signedIn.delete(listener)
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
  for (const listener of signedIn) listener()
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

/** The same with the notices of the response, for example about members without effect. A form is sent as one. */
export async function sendWhole<T>(method: string, path: string, body?: unknown): Promise<Envelope<T>> {
  const used = token
  // The pages of an ended session wait behind the sign-in page.
  if (used === '') throw new ApiFailure(401, [{ code: 0, message: 'not signed in' }])
  let response
  try {
    response = await fetch(PREFIX + path, {
      method,
      headers: {
        authorization: `Bearer ${used}`,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
  } catch {
    throw new ApiFailure(0, [{ code: 0, message: 'the daemon does not respond' }])
  }
  const envelope = (await response.json().catch(() => undefined)) as Envelope<T> | undefined
  if (response.ok && envelope?.success !== false) return envelope ?? ({ result: undefined, messages: [] } as never)
  const errors = envelope?.errors ?? [{ code: response.status, message: `status ${response.status}` }]
  const isInvalid = response.status === 401 || errors.some(({ code }) => code === INVALID_TOKEN)
  // A late response to an old token says nothing about the one in use.
  if (isInvalid && token !== '' && token === used) signOut(errors[0]?.message ?? 'the token is not valid')
  throw new ApiFailure(response.status, errors.map(explained))
}

/** Code of responses to tokens without the permission, whose text of the public API does not say so. */
const NOT_ALLOWED = 10000
const NOT_ALLOWED_TEXT = /^Authentication error(?:: (?<needed>.*))?$/s

function explained(issue: ApiIssue): ApiIssue {
  const found = issue.code === NOT_ALLOWED ? NOT_ALLOWED_TEXT.exec(issue.message) : null
  if (!found) return issue
  const needed = found.groups?.['needed']
  const message = `this token has no permission for this${needed === undefined ? '' : `: ${needed}`}`
  return { ...issue, message }
}

/** Reads a form, such as the modules of a script. Throws {@link ApiFailure}. */
export async function getForm(path: string): Promise<FormData> {
  const response = await fetch(PREFIX + path, { headers: { authorization: `Bearer ${token}` } })
  if (!response.ok)
    throw new ApiFailure(response.status, [{ code: response.status, message: `status ${response.status}` }])
  return await response.formData()
}

/** Saves the body of a response as a file of the browser. Throws {@link ApiFailure}. */
export async function download(path: string, name: string): Promise<void> {
  const response = await fetch(PREFIX + path, { headers: { authorization: `Bearer ${token}` } })
  if (!response.ok) {
    const envelope = (await response.json().catch(() => undefined)) as Envelope<unknown> | undefined
    throw new ApiFailure(
      response.status,
      envelope?.errors ?? [{ code: response.status, message: `status ${response.status}` }],
    )
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

export const get = async <T>(path: string): Promise<T> => await send<T>('GET', path)
export const post = async <T>(path: string, body: unknown = {}): Promise<T> => await send<T>('POST', path, body)
export const put = async <T>(path: string, body: unknown): Promise<T> => await send<T>('PUT', path, body)
export const patch = async <T>(path: string, body: unknown): Promise<T> => await send<T>('PATCH', path, body)
export const remove = async (path: string): Promise<void> => await send('DELETE', path)

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Status of the response behind a failure; 0: the request did not reach the API. Undefined for other errors. */
export const statusOf = (error: unknown): number | undefined => (error instanceof ApiFailure ? error.status : undefined)

/** The errors of the response behind a failure. */
export const issuesOf = (error: unknown): readonly ApiIssue[] => (error instanceof ApiFailure ? error.issues : [])

/** The errors of a form: those of one field, and those that belong to none of its fields. */
export interface Placed {
  readonly at: (pointer: string) => string | undefined
  readonly rest: string | undefined
}

/** Assigns the errors of a failed request to the fields of a form by their pointers below `base`. */
export function placed(failure: unknown, fields: readonly string[], base = ''): Placed {
  if (!(failure instanceof ApiFailure))
    return { at: () => undefined, rest: failure === undefined ? undefined : messageOf(failure) }
  const pointerOf = ({ source }: ApiIssue): string => {
    const pointer = source?.pointer ?? ''
    return pointer.startsWith(`${base}/`) ? pointer.slice(base.length) : pointer
  }
  const fieldOf = (issue: ApiIssue): string | undefined => {
    const pointer = pointerOf(issue)
    return fields.find((field) => pointer === field || pointer.startsWith(`${field}/`))
  }
  const rest = failure.issues.filter((issue) => fieldOf(issue) === undefined)
  return {
    at: (field) => {
      const own = failure.issues.filter((issue) => fieldOf(issue) === field)
      const inside = (issue: ApiIssue): string => {
        const below = pointerOf(issue).slice(field.length)
        return below === '' ? issue.message : `${below}: ${issue.message}`
      }
      return own.length === 0 ? undefined : own.map(inside).join('; ')
    },
    rest: rest.length === 0 ? undefined : new ApiFailure(failure.status, rest).message,
  }
}
