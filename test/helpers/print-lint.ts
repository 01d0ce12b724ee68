/**
 * Prints the overrides of `.oxlintrc.json` again, one line a room, after a change of `rooms.ts`:
 * `npx tsx test/helpers/print-lint.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { lintOverrides } from './rooms.js'

const FILE = '.oxlintrc.json'

interface Override {
  readonly rules: Readonly<Record<string, unknown>>
}

const { overrides, ...rest } = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly overrides: readonly Override[] }
const others = overrides.filter(({ rules }) => !('no-restricted-imports' in rules))
const lines = [...others, ...lintOverrides()].map((each) => `    ${JSON.stringify(each)}`)
const text = JSON.stringify({ ...rest, overrides: [] }, null, 2)
writeFileSync(FILE, `${text.replace('"overrides": []', () => `"overrides": [\n${lines.join(',\n')}\n  ]`)}\n`)
