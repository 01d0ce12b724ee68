/** Sources whose other side cannot send again: what a killed run loses is at most what was on its way. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../../helpers/free-port.js'
import { testFolder } from '../../helpers/folder.js'
import { programArgs } from '../../helpers/program.js'
import { receiver } from '../../helpers/record-receiver.js'
import { until } from '../../helpers/web.js'

const CHILD = programArgs(new URL('../../helpers/run-child.ts', import.meta.url))

interface Way {
  readonly source: (port: number) => string
  /** Connects to a run, and returns how to send records. */
  readonly open: (child: ChildProcess, port: number) => Promise<(lines: readonly string[]) => void>
}

const WAYS: Readonly<Record<string, Way>> = {
  stdin: {
    source: () => 'stdin',
    open: async (child) => (lines) => void child.stdin!.write(lines.join('')),
  },
  'syslog over TCP': {
    source: (port) => `{ syslog: { listen: '127.0.0.1:${port}', record: message } }`,
    async open(_child, port) {
      let socket: Socket | undefined
      await until(async () => {
        const tried = connect(port, '127.0.0.1')
        tried.on('error', () => {})
        await Promise.race([once(tried, 'connect'), once(tried, 'close')]).catch(() => {})
        if (tried.destroyed || tried.connecting) return false
        socket = tried
        return true
      })
      return (lines) => void socket!.write(lines.map((line) => `<134>1 - - a - - - ${line}`).join(''))
    },
  },
  'syslog over UDP': {
    source: (port) => `{ syslog: { listen: '127.0.0.1:${port}', protocol: udp, record: message } }`,
    async open(child, port) {
      let said = ''
      child.stdout!.on('data', (text: Buffer) => (said += text))
      await until(() => said.includes('listening on'))
      const socket = createSocket('udp4').unref()
      return (lines) => {
        for (const line of lines) socket.send(`<134>1 - - a - - - ${line.trim()}`, port, '127.0.0.1')
      }
    },
  },
}

const recordsOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `{"id":"${name}${n}"}\n`)

for (const [name, { source, open }] of Object.entries(WAYS))
  t.test(`kill -9 of a run with ${name}: records on the disk are delivered, and nothing comes twice`, async (t) => {
    const folder = testFolder(t)
    const sink = await receiver(t)
    const file = join(folder, 'p.yaml')
    const port = await freePort()
    writeFileSync(
      file,
      `source: ${source(port)}
dataset: any
output_options: { field_names: [id], output_type: csv }
max_upload_interval_seconds: 1
destination_conf: ${sink.url}
`,
    )
    const start = (): ChildProcess => {
      const child = spawn(process.execPath, [...CHILD, file, join(folder, 'state')], {
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      child.stdin.on('error', () => {})
      t.teardown(() => child.kill('SIGKILL'))
      return child
    }
    const has = (prefix: string) => [...sink.arrived.keys()].filter((id) => id.startsWith(`"${prefix}`)).length
    const first = start()
    const send = await open(first, port)
    send(recordsOf('a', 100))
    await until(() => has('a') === 100)
    // These are on the disk when the destination gets them, which it rejects.
    sink.state.isDown = true
    send(recordsOf('b', 100))
    await until(() => sink.state.failures > 0)
    send(recordsOf('c', 100))
    first.kill('SIGKILL')
    await once(first, 'exit')
    sink.state.isDown = false
    const second = start()
    const again = await open(second, port)
    again(recordsOf('d', 100))
    await until(() => has('d') === 100)
    second.kill('SIGTERM')
    second.stdin?.end()
    await once(second, 'exit')
    t.equal(has('a'), 100)
    t.equal(has('b'), 100)
    t.ok(has('c') <= 100, `${has('c')} of 100 records that were on their way arrived`)
    t.same(sink.repeated(), [])
  })
