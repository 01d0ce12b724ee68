// A block rule is confirmed, the daemon ends, and the log of its store is damaged. For each damage: how many starts were rejected
// with the log unchanged, and what a client gets afterwards, with the log as it was and with the loss accepted.
import { spawnSync } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { CLI, drillFolder, HOST, startDaemon, TOKEN, ZONE } from './daemon.mjs'

const RULES = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
const BLOCK = JSON.stringify({ rules: [{ expression: 'true', action: 'block' }] })
const START_MS = 10_000
const BLOCKED = 403
const REJECTED = /is damaged: .* missing .*; restore a backup .*--accept-data-loss/

const flipped = (log, at) => {
  const bytes = Buffer.from(log)
  bytes[at < 0 ? bytes.length + at : at] ^= 1 << (Math.abs(at) % 8)
  return bytes
}
const flips = (places) => places.map((at) => (log) => flipped(log, at))

/** Damages of a log, each as functions that return its bytes; undefined: the file is deleted. */
const DAMAGES = {
  'a bit of the first record': flips([0, 4, 5, 6, 7, 40]),
  'a bit of the last 100 bytes': flips([-1, -2, -30, -60, -99]),
  'the end cut off': [1, 50, 99].map((bytes) => (log) => log.subarray(0, log.length - bytes)),
  'the end full of zeros': [1, 50, 99].map((bytes) => (log) => Buffer.from(log).fill(0, log.length - bytes)),
  'emptied or deleted': [() => Buffer.alloc(0), () => undefined],
}

/** Returns the rows of all damages, or of those whose title contains a text, and the titles of those that were not noticed. */
export async function damagedLogs(only) {
  // Each folder and each daemon has a listener for the end of this process.
  setMaxListeners(200, process)
  const rows = []
  const failures = []
  for (const [ending, signal] of [
    ['a clean stop', 'SIGTERM'],
    ['kill -9', 'SIGKILL'],
  ]) {
    const wanted = Object.entries(DAMAGES).filter(([name]) => titleOf(ending, name).includes(only))
    if (wanted.length === 0) continue
    const site = createServer((_request, response) => response.end('from the origin')).listen(0, '127.0.0.1')
    await once(site, 'listening')
    const origin = `http://127.0.0.1:${site.address().port}`
    const folder = await ended(origin, signal)
    for (const [name, damages] of wanted) {
      const row = await measure(folder, origin, damages)
      rows.push({ 'damaged log': name, after: ending, ...row })
      const isNoticed = row.rejected === damages.length && row.repaired === BLOCKED && row.accepted === 200
      if (!isNoticed) failures.push(titleOf(ending, name))
      console.error(`${titleOf(ending, name)}: ${JSON.stringify(row)}`)
    }
    site.close()
  }
  return { rows, failures }
}

const titleOf = (ending, name) => `damaged log after ${ending}, ${name}`

/** Returns the folder of a daemon that confirmed the rule and ended. */
async function ended(origin, signal) {
  const folder = drillFolder()
  const { child, control } = await startDaemon(folder, origin, { store: 'embedded' })
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const { status } = await fetch(control + RULES, { method: 'PUT', headers, body: BLOCK })
  if (status !== 200) throw new Error(`the rule was not written: ${status}`)
  await end(child, signal)
  return folder
}

async function measure(from, origin, damages) {
  const folder = drillFolder()
  cpSync(from, folder, { recursive: true })
  const store = join(folder, 'data', 'store')
  const path = join(
    store,
    readdirSync(store).find((name) => name.endsWith('.log')),
  )
  const log = readFileSync(path)
  let rejected = 0
  for (const damage of damages) if (isRejected(folder, path, damage(log))) rejected += 1
  writeFileSync(path, log)
  const copy = drillFolder()
  cpSync(folder, copy, { recursive: true })
  const repaired = await statusAfterStart(folder, origin, [])
  write(path.replace(folder, copy), damages[0](log))
  const accepted = await statusAfterStart(copy, origin, ['--accept-data-loss'])
  return { damages: damages.length, rejected, repaired, accepted }
}

function write(path, bytes) {
  if (bytes === undefined) rmSync(path)
  else writeFileSync(path, bytes)
}

/** Returns whether the daemon does not start with this log, says what is missing, and leaves the log as it is. */
function isRejected(folder, path, bytes) {
  write(path, bytes)
  const { status, stderr } = spawnSync(process.execPath, [CLI, 'serve', '-c', join(folder, 'edged.yaml')], {
    encoding: 'utf8',
    timeout: START_MS,
  })
  const isUnchanged = bytes === undefined ? !existsSync(path) : existsSync(path) && readFileSync(path).equals(bytes)
  return status === 1 && REJECTED.test(stderr) && isUnchanged
}

/** Starts the daemon, and returns the status that a client gets. */
async function statusAfterStart(folder, origin, flags) {
  const { child, proxy } = await startDaemon(folder, origin, { store: 'embedded', flags })
  const status = await new Promise((resolve, reject) => {
    request(proxy, { headers: { host: HOST } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  await end(child, 'SIGTERM')
  return status
}

async function end(child, signal) {
  child.removeAllListeners('exit')
  child.kill(signal)
  await once(child, 'exit')
}
