import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { passes } from './passes.js'
import type { Plan } from './plan.js'

const CASES = fileURLToPath(new URL('../fixtures/simulator/', import.meta.url))

for (const file of readdirSync(CASES))
  t.test(`${file}, which failed once`, async (t) => {
    const { why, plan } = JSON.parse(readFileSync(CASES + file, 'utf8')) as { why: string; plan: Plan }
    await passes(t, why, plan)
    t.pass()
  })
