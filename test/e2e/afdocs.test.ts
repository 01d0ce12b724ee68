import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { configuration, startDaemon, unbuilt, ZONE, ACCOUNT } from './daemon.js'

/*
 * The 28 checks of the npm package afdocs on the bundled sample site. It is installed by `npm install --prefix test/peers`.
 */
const AFDOCS = fileURLToPath(new URL('../peers/node_modules/afdocs/bin/afdocs.mjs', import.meta.url))

const skip = unbuilt || (existsSync(AFDOCS) ? false : 'npm install --prefix test/peers')

interface Report {
  readonly score?: { readonly overall?: number } | number
  readonly scoring?: { readonly overall?: number }
  readonly results: readonly { readonly id: string; readonly status: string; readonly message: string }[]
}

t.test('afdocs gives the sample site 100 of 100', { skip, timeout: 600_000 }, async (t) => {
  const zone = {
    id: ZONE,
    account: ACCOUNT,
    name: 'example.test',
    hostnames: ['example.test', '127.0.0.1'],
    origin: 'demo',
    settings: { content_converter: 'on' },
    markdown: { llms_txt: 'front_page' },
    agents: { hint: true, robots: true },
  }
  const { proxy } = await startDaemon(t, configuration('demo', { zones: [zone] }))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      AFDOCS,
      'check',
      proxy,
      '--format',
      'json',
      '--score',
      '--quiet',
      '--sampling',
      'deterministic',
      '--request-delay',
      '0',
    ],
    { maxBuffer: 50_000_000 },
  ).catch((error: { stdout: string }) => error)
  const report = JSON.parse(stdout) as Report
  for (const { id, status, message } of report.results)
    if (!['pass', 'skip', 'info'].includes(status)) t.comment(`${id}: ${status}: ${message}`)
  t.equal(typeof report.score === 'number' ? report.score : (report.score ?? report.scoring)?.overall, 100)
})
