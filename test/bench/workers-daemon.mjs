// The built daemon with one zone, bench.test, and Workers, for benchmarks and drills.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
export const ACCOUNTS = ['a'.repeat(32), 'b'.repeat(32)]
const TOKEN = 'token-of-the-bench-with-every-permission'
const ZONES = ['bench.test', 'other.test']

/** Starts the daemon in `folder`, each account with a zone: bench.test and other.test. */
export async function startWorkersDaemon(folder, more = '') {
  writeFileSync(
    `${folder}/edged.yaml`,
    `data: ./data
log: { level: info }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0", rate_limit: { requests: 0 } }
admin: { listen: "127.0.0.1:0" }
accounts: [${ACCOUNTS.map((id) => `{ id: ${id}, name: Bench }`).join(', ')}]
zones: [${ACCOUNTS.map((id, at) => `{ id: ${id}, account: ${id}, name: ${ZONES[at]}, origin: demo, plan: enterprise }`).join(', ')}]
tokens: [{ name: bench, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
${more}`,
  )
  const began = performance.now()
  const child = spawn(process.execPath, [CLI, 'serve', '-c', `${folder}/edged.yaml`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const { proxy, control, admin } = await new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error('the daemon did not start')))
    let text = ''
    child.stdout.on('data', (chunk) => {
      text = (text + chunk).slice(-65_536)
      const ready = text.split('\n').find((line) => line.includes('"event":"ready"') && line.endsWith('}'))
      if (ready) resolve(JSON.parse(ready))
    })
  })
  const call = async (method, path, init = {}) => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...init.headers }
    const response = await fetch(`${control.replace(/\/$/, '')}${path}`, { method, ...init, headers })
    return { status: response.status, body: await response.json() }
  }
  return {
    child,
    /** Address of the admin listener. */
    admin: new URL(admin).host,
    /** Calls the API with a path below `/client/v4`. */
    call,
    port: Number(new URL(proxy).port),
    readyMs: performance.now() - began,
    /** Uploads a script of an account. */
    async upload(name, code, metadata = {}, account = ACCOUNTS[0]) {
      const form = new FormData()
      form.set('metadata', JSON.stringify({ main_module: 'index.js', compatibility_date: '2026-01-01', ...metadata }))
      form.set('index.js', new Blob([code], { type: 'application/javascript+module' }), 'index.js')
      return await call('PUT', `/accounts/${account}/workers/scripts/${name}`, { body: form })
    },
    /** Gives a script a host name. */
    async domain(name, hostname, account = ACCOUNTS[0]) {
      const body = JSON.stringify({ hostname, service: name, zone_id: account, environment: 'production' })
      const headers = { 'content-type': 'application/json' }
      const { status } = await call('PUT', `/accounts/${account}/workers/domains`, { body, headers })
      if (status !== 200) throw new Error(`domain: ${status}`)
    },
    async stop() {
      process.off('exit', kill)
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Resident memory in MiB of the processes of the runtime below a daemon. */
export function runtimeProcesses(pid) {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'utf8')
      const isOurs = new RegExp(`^PPid:\\s+${pid}$`, 'm').test(status) && /^Name:\s+workerd$/m.test(status)
      return isOurs ? [{ pid: Number(entry), mebibytes: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024 }] : []
    } catch {
      return []
    }
  })
}
