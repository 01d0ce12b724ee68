/** A script, as the list has it. */
export interface Script {
  readonly id: string
  readonly created_on: string
  readonly modified_on: string
  readonly handlers?: readonly string[]
  readonly has_assets?: boolean
  readonly compatibility_date?: string
  readonly last_deployed_from?: string
  readonly entry_point?: string
}

export interface Binding {
  readonly type: string
  readonly name: string
  readonly [member: string]: unknown
}

/** The text of a variable. */
export const variableText = ({ text }: Binding): string => (typeof text === 'string' ? text : '')

export interface Settings {
  readonly bindings: readonly Binding[]
  readonly compatibility_date?: string
  readonly compatibility_flags: readonly string[]
}

export interface Version {
  readonly id: string
  readonly number: number
  readonly metadata?: { readonly created_on?: string; readonly source?: string; readonly author_email?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Share {
  readonly version_id: string
  readonly percentage: number
}

export interface Deployment {
  readonly id: string
  readonly created_on: string
  readonly source?: string
  readonly author_email?: string
  readonly versions: readonly Share[]
  readonly annotations?: Readonly<Record<string, string>>
}

export const scriptPath = (ofAccount: string, name: string): string =>
  `${ofAccount}/workers/scripts/${encodeURIComponent(name)}`

/** One call of a Worker, as a live session sends it. */
export interface Trace {
  readonly outcome?: string
  readonly eventTimestamp?: number
  readonly wallTime?: number
  readonly event?: {
    readonly request?: { readonly url?: string; readonly method?: string }
    readonly response?: { readonly status?: number }
    readonly cron?: string
    readonly queue?: string
  } | null
  readonly logs?: readonly { readonly level: string; readonly message: unknown; readonly timestamp?: number }[]
  readonly exceptions?: readonly { readonly name: string; readonly message: string; readonly stack?: string }[]
}

export function readTrace(text: string): Trace {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** `GET /x`, an expression of cron, or the name of a queue. */
export function eventName({ event }: Trace): string {
  const { request, cron, queue } = event ?? {}
  if (request?.url !== undefined) return `${request.method ?? 'GET'} ${pathOf(request.url)}`
  return cron ?? queue ?? 'Event'
}

function pathOf(url: string): string {
  try {
    const { pathname, search } = new URL(url)
    return pathname + search
  } catch {
    return url
  }
}

/** Returns the messages of a call as lines: its console, then its errors. */
export function linesOf({ logs = [], exceptions = [] }: Trace): string[] {
  const console = logs.map(({ level, message }) => {
    const parts = Array.isArray(message) ? message : [message]
    return `${level}: ${parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ')}`
  })
  return [...console, ...exceptions.map(({ name, message, stack }) => stack ?? `${name}: ${message}`)]
}
