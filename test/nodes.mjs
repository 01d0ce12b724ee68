// npm run e2e:nodes [-- PATH...]: the end-to-end tests, or those at the paths, under other versions of Node.js, which npm
// installs from the registry (package `node`). Exit 1 if tests fail under one of them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const VERSIONS = [22, 24]

const wanted = process.argv.slice(2)
const paths = wanted.length > 0 ? wanted : ['test/e2e']
const failed = []
for (const version of VERSIONS) {
  console.log(`\n== Node.js ${version}`)
  const args = ['--yes', '-p', `node@${version}`, '--', 'node', 'test/run.mjs', ...paths]
  const [code] = await once(spawn('npx', args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) failed.push(version)
}
if (failed.length > 0) console.error(`\nfailed under Node.js ${failed.join(' and ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
