/** npm run fuzz -- [TARGET] [--runs N] [--seed N]: coverage-guided inputs for readers. Exit 1 if one has a fault. */
import { fuzz } from './fuzz.js'
import { TARGETS } from './targets.js'

const [, , ...given] = process.argv
const option = (name: string, otherwise: number): number => {
  const at = given.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(given[at + 1])
}
const named = given[0] === undefined || given[0].startsWith('--') ? undefined : given[0]
if (named !== undefined && !(named in TARGETS)) {
  console.error(`unknown target ${named}; there are: ${Object.keys(TARGETS).join(', ')}`)
  process.exit(2)
}
let isFailed = false
for (const name of named === undefined ? Object.keys(TARGETS) : [named]) {
  const runs = option('runs', 100_000)
  const { findings, reached, corpus } = await fuzz(name, { runs, seed: option('seed', 1) })
  console.log(`${name}: ${runs} runs, ${reached} blocks reached, ${corpus} inputs kept`)
  for (const { input, reason } of findings) {
    isFailed = true
    console.error(`FAILED ${name}: ${JSON.stringify(input.toString('latin1'))}\n${reason}`)
  }
}
process.exit(isFailed ? 1 : 0)
