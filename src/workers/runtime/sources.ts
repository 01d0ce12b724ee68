/*
 * Workers and modules of our own that run inside workerd.
 */

/** Responds to health checks, and calls `scheduled` and `queue` of the scripts that it has bindings to. */
export const CONTROL_WORKER = `export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === '/ping') return new Response('pong')
    const { target, type, event } = await request.json()
    if (type === 'scheduled')
      return Response.json(await env[target].scheduled({ cron: event.cron, scheduledTime: new Date(event.scheduledTime) }))
    const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
    const messages = event.messages.map(({ id, timestamp, attempts, format, body }) => {
      const base = { id, timestamp: new Date(timestamp), attempts }
      if (format === 'v8') return { ...base, serializedBody: bytes(body) }
      if (format === 'bytes') return { ...base, body: bytes(body) }
      const text = new TextDecoder().decode(bytes(body))
      return { ...base, body: format === 'json' ? JSON.parse(text) : text }
    })
    return Response.json(await env[target].queue(event.queue, messages))
  },
}
`

/**
 * Forwards trace events of scripts to the daemon, one request at a time. Each request contains all events that arrived
 * during the previous one. A request per event would need too much memory in the process. Beyond the limit events are
 * counted instead of stored.
 */
export const TAIL_WORKER = `const MAX_CHARACTERS = 16 * 2 ** 20
const BATCH_CHARACTERS = 2 ** 20
const ATTEMPTS = 5
const STALLED_MS = 10_000
let queue = [], size = 0, lost = 0, sender = 0, progress = 0
const take = () => {
  let end = 0
  for (let length = 0; end < queue.length && (end === 0 || length + queue[end].text.length <= BATCH_CHARACTERS); end++) length += queue[end].text.length
  const batch = queue.slice(0, end)
  queue = queue.slice(end)
  for (const { text } of batch) size -= text.length
  return batch
}
const post = async (env, batch, missed) => {
  const body = '{"lost":' + missed + ',"calls":[' + batch.map(({ text }) => text).join(',') + ']}'
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const response = await env.DAEMON.fetch('http://daemon/tail', { method: 'POST', body })
      if (response.ok) return true
    } catch {}
    progress = Date.now()
    await scheduler.wait(50 * 2 ** attempt)
  }
  return false
}
export default {
  async tail(events, env, ctx) {
    const text = JSON.stringify({ source: ctx.props, at: Date.now(), events })
    if (size + text.length > MAX_CHARACTERS) lost += events.length
    else {
      queue.push({ text, events: events.length })
      size += text.length
    }
    if (sender !== 0 && Date.now() - progress < STALLED_MS) return
    const me = sender = Math.random()
    while (sender === me && (queue.length > 0 || lost > 0)) {
      progress = Date.now()
      const batch = take(), missed = lost
      lost = 0
      if (!(await post(env, batch, missed))) lost += batch.reduce((sum, one) => sum + one.events, missed)
    }
    if (sender === me) sender = 0
  },
}
`

/**
 * Rejects every call. Used for service bindings to a script or an entrypoint that does not exist. The text of the error is
 * in the properties of the binding.
 */
export const NO_SERVICE_WORKER = `import { WorkerEntrypoint } from 'cloudflare:workers'
export default class extends WorkerEntrypoint {
  constructor(ctx, env) {
    super(ctx, env)
    const fail = () => { throw new Error(ctx.props.reason) }
    return new Proxy(this, { get: (target, name) => (name !== 'fetch' && (name in target || typeof name === 'symbol') ? target[name] : fail) })
  }
  fetch() {}
}
`

/**
 * A binding type that is not available. Reading a member must not throw, because \`process.env\` is filled from all
 * bindings. Calling a member, or a member of a member, throws, and so does its conversion to text.
 */
const UNAVAILABLE = `export default ({ message }) => {
  const fail = () => { throw new Error(message) }
  const all = new Proxy(fail, { get: (_, member) => (typeof member === 'symbol' || member === 'then' || member === 'toJSON' ? undefined : all) })
  return all
}
`

const RATE_LIMIT = `export default ({ fetcher, options }) => ({
  async limit({ key } = {}) {
    if (typeof key !== 'string') throw new TypeError('limit() needs a key, which must be a string')
    const body = JSON.stringify({ key, ...options })
    const response = await fetcher.fetch('http://daemon/', { method: 'POST', body })
    if (!response.ok) throw new Error('rate limit failed: ' + response.statusText)
    return await response.json()
  },
})
`

/** The class of messages that scripts import from `cloudflare:email`. */
const EMAIL_MESSAGE = `export class EmailMessage {
  constructor(from, to, raw) {
    if (typeof from !== 'string' || typeof to !== 'string') throw new TypeError('EmailMessage needs from, to and the raw message')
    this.from = from
    this.to = to
    this.raw = raw
  }
}
export default { EmailMessage }
`

/** Sends a message, or the members of one, through the daemon. */
const SEND_EMAIL = `export default ({ fetcher }) => ({
  async send(message) {
    const { raw, ...members } = message ?? {}
    const body = raw === undefined ? undefined : await new Response(raw).arrayBuffer()
    const headers = { 'x-edged-mail': encodeURIComponent(JSON.stringify(members)) }
    const response = await fetcher.fetch('http://daemon/', { method: 'POST', body, headers })
    if (!response.ok) throw new Error(response.statusText)
    return await response.json()
  },
})
`

/** Reads a secret of a secrets store. The value is in the properties of the binding. */
export const SECRETS_WORKER = `import { WorkerEntrypoint } from 'cloudflare:workers'
export class Secret extends WorkerEntrypoint {
  get() {
    const { name, value } = this.ctx.props
    if (value === undefined) throw new Error('Secret "' + name + '" not found')
    return value
  }
}
export default { fetch() { return new Response(null, { status: 404 }) } }
`

/** Built-in modules that bindings use. User code cannot import internal ones. */
export const EXTENSION_MODULES: readonly { readonly name: string; readonly source: string }[] = [
  { name: 'edged-internal:unavailable', source: UNAVAILABLE },
  { name: 'edged-internal:ratelimit', source: RATE_LIMIT },
  { name: 'edged-internal:send-email', source: SEND_EMAIL },
  { name: 'cloudflare-internal:email', source: EMAIL_MESSAGE },
]

/**
 * Returns the main module of the validation process. It imports the main module of the user as a namespace and reports
 * the kind of each export. \`main\` is the import specifier of the user's main module.
 */
export const describeSource = (main: string): string => `import * as user from ${JSON.stringify(main)}
import { DurableObject, WorkerEntrypoint, WorkflowEntrypoint } from 'cloudflare:workers'
export * from ${JSON.stringify(main)}
const BASES = [[DurableObject, 'durable-object'], [WorkerEntrypoint, 'entrypoint'], [WorkflowEntrypoint, 'workflow']]
const isClass = (value) => Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false
const members = (value, end) => {
  const names = new Set()
  for (let at = value; at && at !== end; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name)
  return [...names]
}
const describe = (value) => {
  if (typeof value === 'function' && isClass(value)) {
    const base = BASES.find(([base]) => value.prototype instanceof base)
    return { kind: base ? base[1] : 'class', members: members(value.prototype, base ? base[0].prototype : Object.prototype) }
  }
  if (typeof value === 'object' && value !== null) return { kind: 'object', members: members(value, Object.prototype).filter((name) => typeof value[name] === 'function') }
  return { kind: typeof value === 'function' ? 'function' : 'value', members: [] }
}
export default {
  fetch() {
    return Response.json(Object.keys(user).map((name) => ({ name, ...describe(user[name]) })))
  },
}
`
