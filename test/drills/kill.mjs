// kill -9 of a proxy process every second under load. Only connections of the killed process may fail; records that the
// API has accepted and changes that it has acknowledged stay; another process takes the place within a second, besides the time for
// which it and the daemon wait for a processor of a busy machine.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { table } from '../bench/measure.mjs'
import { drillFolder, HOST, startDaemon, TOKEN, ZONE } from './daemon.mjs'

const CLIENTS = 32
/** Each client waits up to this long between requests: a new process needs CPU time to start. */
const MAX_PAUSE_MS = 20
const INTERVAL_MS = 1000
const RULES = 'rulesets/phases/http_request_firewall_custom/entrypoint'
const WAIT_MS = 60_000
/** The proxy creates no records of it. */
const DATASET = 'dns_logs'

/** Returns what failed. */
export async function drill(option) {
  const seconds = option('seconds', 30)
  const maxReplaceMs = option('max-replace-ms', 1000)
  const folder = drillFolder()
  const out = join(folder, 'out')
  await mkdir(out)
  const origin = fork(new URL('./child.mjs', import.meta.url), ['origin'])
  const [port] = await once(origin, 'message')
  const daemon = await startDaemon(folder, `http://127.0.0.1:${port}`, {
    more: `processes: 2\nlogpush: { destinations: { allow_file_under: ["${out}"] } }`,
  })
  await api(daemon, 'POST', 'logpush/jobs', {
    dataset: DATASET,
    destination_conf: `file://${out}`,
    enabled: true,
    max_upload_interval_seconds: 30,
  })

  const stop = new AbortController()
  /** Client ports of connections that killed processes had. */
  const killed = new Set()
  const seen = { served: 0, cut: 0, wrong: [], foreign: 0 }
  const writes = { accepted: 0, rules: 0, failures: [] }
  await changeRule(daemon, writes)
  const clients = Array.from({ length: CLIENTS }, () => client(daemon, { stop: stop.signal, killed, seen }))
  const writing = write(daemon, stop.signal, writes)

  const replaced = []
  for (let kill = 0; kill < seconds; kill++) {
    const started = performance.now()
    replaced.push(await killOne(daemon, 1 + (kill % 2), killed))
    await wait(Math.max(0, INTERVAL_MS - (performance.now() - started)))
  }
  stop.abort()
  await Promise.all([...clients, writing])
  const read = await settled(
    async () => await metric(daemon, 'edged_logpush_records_read_total{job="1"}'),
    writes.accepted,
  )
  const rules = await api(daemon, 'GET', RULES)
  const versions = Number(rules.version)
  origin.disconnect()

  const worst = Math.max(...replaced.map(({ ms }) => ms))
  const worstWaited = Math.max(...replaced.map(({ ms, waitedMs }) => ms + waitedMs))
  table([
    {
      kills: replaced.length,
      'replaced ms (worst)': Math.round(worst),
      'with waits for a processor': Math.round(worstWaited),
      served: seen.served,
      'cut with their process': seen.cut,
      'cut otherwise': seen.foreign,
      'wrong responses': seen.wrong.length,
      'records accepted': writes.accepted,
      'records read': read,
      'API changes': writes.rules,
    },
  ])
  return [
    seen.foreign > 0 && `${seen.foreign} connections of other processes failed`,
    seen.wrong.length > 0 && `wrong responses: ${seen.wrong.slice(0, 3).join('; ')}`,
    writes.failures.length > 0 && `API: ${writes.failures.slice(0, 3).join('; ')}`,
    read !== writes.accepted && `${writes.accepted} records were accepted, ${read} were read`,
    versions !== writes.rules && `${writes.rules} changes were acknowledged, the ruleset has version ${versions}`,
    worst > maxReplaceMs && `a process was replaced after ${Math.round(worst)} ms, more than ${maxReplaceMs} ms`,
  ].filter((failure) => failure !== false)
}

/** Sends requests one after the other on one connection, until it ends; then on the next one. */
async function client(daemon, { stop, killed, seen }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; !stop.aborted; count++) {
    // The rule of the last change blocks this path on every process.
    const path = count % 10 === 0 ? '/blocked' : '/'
    const result = await send(daemon, path, agent)
    await wait(Math.random() * MAX_PAUSE_MS)
    if (result.status === 200 || result.status === 403) seen.served++
    if (result.status !== undefined && result.status !== (path === '/' ? 200 : 403))
      seen.wrong.push(`${result.status} for ${path}`)
    if (result.status === undefined) {
      // Which connections a process has is read while it is stopped, so the kill is never ahead of this list.
      if (killed.has(result.port)) seen.cut++
      else seen.foreign++
    }
  }
  agent.destroy()
}

const send = async (daemon, path, agent) =>
  await new Promise((resolve) => {
    let port
    const sent = request(`${daemon.proxy}${path}`, { agent, headers: { host: HOST } }, (response) => {
      response.resume()
      response.on('end', () => resolve({ status: response.statusCode, port }))
      response.on('error', () => resolve({ port }))
    })
    sent.on('socket', (socket) => {
      port = socket.localPort
      if (socket.connecting) socket.once('connect', () => (port = socket.localPort))
    })
    sent.on('error', () => resolve({ port }))
    sent.end()
  })

/** Changes a rule and adds log records, again and again. All of it is acknowledged and must not be lost. */
async function write(daemon, stop, writes) {
  while (!stop.aborted) {
    try {
      await changeRule(daemon, writes)
      const { status } = await send(daemon, `/round-${writes.rules - 1}`, false)
      if (status !== undefined && status !== 403) writes.failures.push(`a rule was not in force: ${status}`)
      const record = { QueryName: `drill-${writes.accepted}`, Timestamp: new Date().toISOString() }
      const { accepted } = await api(daemon, 'POST', `edged/records/${DATASET}`, [record])
      writes.accepted += accepted
    } catch (error) {
      writes.failures.push(error.message)
    }
    await wait(20)
  }
}

async function changeRule(daemon, writes) {
  const expression = `http.request.uri.path in {"/blocked" "/round-${writes.rules}"}`
  await api(daemon, 'PUT', RULES, { rules: [{ action: 'block', expression }] })
  writes.rules++
}

async function api(daemon, method, path, body) {
  const response = await fetch(`${daemon.control}/zones/${ZONE}/${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { success, errors, result } = await response.json()
  if (!success) throw new Error(`${method} ${path}: ${JSON.stringify(errors)}`)
  return result
}

async function metric(daemon, name) {
  const text = await (await fetch(`${daemon.admin}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  )
}

/**
 * Kills the process with a number. Returns the milliseconds until the next one accepts connections, without `waitedMs`, for which it
 * and the daemon waited for a processor.
 */
async function killOne({ child, lines }, number, killed) {
  const started = () => lines.findLast(({ event, process }) => event === 'proxy_process_started' && process === number)
  const { pid } = started()
  process.kill(pid, 'SIGSTOP')
  for (const port of clientPorts(pid)) killed.add(port)
  // The next process can exist already.
  const before = new Map([child.pid, ...childrenOf(child.pid)].map((each) => [each, waitedMs(each)]))
  const at = Date.now()
  process.kill(pid, 'SIGKILL')
  while (started().pid === pid) {
    if (Date.now() - at > WAIT_MS) throw new Error(`process ${number} was not replaced`)
    await wait(5)
  }
  const next = started()
  // This process can be late too, so the time is that of the daemon.
  const ms = Date.parse(next.time) - at
  const waited = [child.pid, next.pid].reduce((sum, each) => sum + waitedMs(each) - (before.get(each) ?? 0), 0)
  return { ms: Math.max(0, ms - waited), waitedMs: Math.min(ms, waited) }
}

/** Processes that a process has started. None if the system does not list them. */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  } catch {
    return []
  }
}

/** Milliseconds for which the main thread of a process was ready and had no processor. 0 if the system does not count them. */
function waitedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** Remote ports of the TCP connections that a process has open. */
function clientPorts(pid) {
  const sockets = new Set()
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
    if (inode) sockets.add(inode)
  }
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1)
  return rows.flatMap((row) => {
    const [, , remote, , , , , , , inode] = row.trim().split(/\s+/)
    return sockets.has(inode) ? Number.parseInt(remote.split(':')[1], 16) : []
  })
}

/** Repeats a reading until it has the expected value, or for a while; returns the last one. */
async function settled(read, expected) {
  const until = performance.now() + WAIT_MS
  let value = await read()
  while (value !== expected && performance.now() < until) {
    await wait(200)
    value = await read()
  }
  return value
}
