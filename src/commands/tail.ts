import { WebSocket } from 'ws'
import { printable } from '../core/printable.js'
import { ADMIN_HELP } from './common/admin-client.js'
import { API_HELP, openApi, type Api, type ApiOptions } from './common/api-client.js'
import { Exit, type DefineCommand } from './common/command.js'

interface Options extends ApiOptions {
  readonly filter?: string
  readonly fields?: string
  readonly dataset?: string
  readonly sample?: string
}

/** `edged tail JOB|PIPELINE|ZONE`: records as they pass, one a line. */
export const tail: DefineCommand = (command) => {
  command
    .argument(
      '<target>',
      'id of a job, name of a pipeline (NAME/ROUTE for one route), or name or id of a zone or account',
    )
    .option('--filter <json>', 'show only records that match, as in the filter of a job: {"where": ...}')
    .option('--fields <names>', 'fields to show as JSON, with commas between them')
    .option('--dataset <name>', 'dataset of a zone or account (default: http_requests)')
    .option('--sample <n>', 'show one record of n')
    .option('-c, --config <file>', 'configuration file of the daemon')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--url <url>', 'base URL of its API, for example http://127.0.0.1:8787/client/v4')
    .option('--token <token>', 'token for the API')
    .addHelpText(
      'after',
      `${ADMIN_HELP}${API_HELP}\nOn a terminal control characters are shown as \\u escapes. If the output is slower than the records, some are left\n` +
        'out, and their number goes to standard error. Exit codes: 0 ended by SIGINT or SIGTERM, 1 anything else.',
    )
    .action(async (target: string, options: Options) => await show(target, options))
}

async function show(target: string, options: Options): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const api = await openApi(options)
  const { filter, fields, dataset, sample } = options
  if (sample !== undefined && !/^[1-9]\d{0,5}$/.test(sample))
    throw new Exit(1, '--sample must be a number from 1 to 999999')
  const { path, members } = await find(api, target)
  const input = {
    ...members,
    ...(filter !== undefined && { filter }),
    ...(fields !== undefined && { fields }),
    ...(dataset !== undefined && { dataset }),
    ...(sample !== undefined && { sample: Number(sample) }),
  }
  // A session lasts an hour.
  while (!stopping.signal.aborted) {
    const { session_id: id } = (await api.call('POST', `${path}/edged/tail`, input)) as { session_id: string }
    await listen(`${api.base.replace(/^http/, 'ws')}/logpush/edge/sessions/${id}`, stopping.signal)
  }
}

const NORMAL = 1000

/** Prints the records of a session until it is over, or the signal aborts. */
async function listen(url: string, signal: AbortSignal): Promise<void> {
  const socket = new WebSocket(url, { maxPayload: 256 << 20 })
  const terminal = process.stdout.isTTY
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      return void process.stderr.write(`edged: ${noticeOf(JSON.parse(data.toString()) as Notice)}\n`)
    }
    if (process.stdout.write(terminal ? printable(data.toString()) : data)) return
    socket.pause()
    process.stdout.once('drain', () => socket.resume())
  })
  const close = () => socket.close(NORMAL)
  signal.addEventListener('abort', close, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', (error) =>
        signal.aborted ? resolve() : reject(new Exit(1, `the session failed: ${error.message}`)),
      )
      socket.on('close', (code, reason) => {
        if (signal.aborted || code === NORMAL) resolve()
        else reject(new Exit(1, `the session ended: ${reason.toString() || `code ${code}`}`))
      })
    })
  } finally {
    signal.removeEventListener('abort', close)
  }
}

/** A binary message: records that were left out, or a machine whose records do not arrive. */
type Notice = { readonly missed: number } | { readonly machine: string; readonly state: 'away' | 'back' }

function noticeOf(notice: Notice): string {
  if ('missed' in notice) return `${notice.missed} records were left out; the output is too slow`
  const { machine, state } = notice
  return state === 'away'
    ? `the machine ${printable(machine)} does not respond; its records are not shown`
    : `the records of the machine ${printable(machine)} are shown again`
}

interface Target {
  /** Path of the scope. */
  readonly path: string
  /** Members of the request that say what of the scope is meant. */
  readonly members: object
}

const PER_PAGE = 50
/** Pages of zones, and of accounts, that are searched. */
const MAX_PAGES = 20

interface Named {
  readonly id: string
  readonly name: string
}

interface Running {
  readonly kind: 'pipeline' | 'job'
  readonly name: string
  readonly route?: string
}

/** Finds a zone or account by its name or id, else a job or pipeline that runs. */
async function find(api: Api, target: string): Promise<Target> {
  const scopes: string[] = []
  for (const type of ['zones', 'accounts'] as const) {
    for (let page = 1; page <= MAX_PAGES; page++) {
      const found = (await api.call('GET', `/${type}?page=${page}&per_page=${PER_PAGE}`)) as Named[]
      for (const { id, name } of found) {
        const path = `/${type}/${id}`
        if (id === target || name === target) return { path, members: {} }
        scopes.push(path)
      }
      if (found.length < PER_PAGE) break
    }
  }
  const [name = '', route] = target.split('/', 2)
  for (const path of scopes) {
    const running = (await api.call('GET', `${path}/edged/pipelines`)) as Running[]
    const found = running.find((each) => each.name === name && (route === undefined || each.route === route))
    if (found?.kind === 'job') return { path, members: { job: Number(name) } }
    if (found !== undefined) return { path, members: { pipeline: name, ...(route !== undefined && { route }) } }
  }
  throw new Exit(
    1,
    `no zone, account, running job or pipeline is called ${JSON.stringify(target)}; edged status lists them`,
  )
}
