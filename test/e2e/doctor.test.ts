import { spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { CLI, unbuilt } from './daemon.js'

const ANY = { listen: '127.0.0.1:0' }

function doctor(folder: string) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [CLI, 'doctor', '-c', join(folder, 'edged.yaml'), '--json'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] }, timeout: 60_000 },
  )
  return { status, stderr, findings: JSON.parse(stdout) as { check: string; level: string; message: string }[] }
}

t.test('doctor names what a machine lacks, and changes nothing', { skip: unbuilt }, async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const config = (more: object) =>
    testFolder(t, { 'edged.yaml': stringify({ data: './data', proxy: ANY, control: ANY, admin: ANY, ...more }) })

  const healthy = doctor(config({ proxy: { ...ANY, limits: { connections: 100 } } }))
  t.equal(healthy.status, 0, JSON.stringify(healthy))
  t.same(new Set(healthy.findings.map(({ check }) => check)).size, 7)

  const failing = doctor(
    config({
      proxy: { listen: `127.0.0.1:${port}`, limits: { connections: 2_000_000_000 } },
      data: './edged.yaml/data',
    }),
  )
  t.equal(failing.status, 1)
  const failed = failing.findings.filter(({ level }) => level === 'FAIL')
  t.match(failed, [
    { check: 'descriptors', message: /set LimitNOFILE=\d+/ },
    { check: 'disk', message: /cannot be written .* set data to another folder/ },
    { check: 'ports', message: new RegExp(`proxy.listen: 127.0.0.1:${port} is already in use`) },
  ])
  const away = doctor(config({ logpush: { spool: 'nats://u:password@127.0.0.1:1' } }))
  t.match(away, { status: 1 })
  t.match(
    away.findings.filter(({ check }) => check === 'nats'),
    [{ level: 'FAIL', message: 'NATS at 127.0.0.1:1 cannot be used: connection refused' }],
  )
  const invalid = doctor(config({ proxi: {} }))
  t.match(invalid, { status: 1, findings: [{ check: 'configuration', level: 'FAIL', message: /proxi/ }] })
})
