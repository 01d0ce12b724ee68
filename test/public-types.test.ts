import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'

// In a process of its own: the compiler needs memory that other tests should not wait for.
t.test('the public types of the exports are the checked-in ones', async (t) => {
  const code = `import('./packages/api.mjs').then(({ publicTypes }) => process.stdout.write(JSON.stringify([...publicTypes()])))`
  const types = JSON.parse(
    execFileSync(process.execPath, ['-e', code], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }),
  ) as [string, string][]
  t.strictSame(
    types.map(([path]) => path),
    ['markdown', 'expr', 'records', 'plugin'].map((name) => `packages/api/${name}.d.ts`),
  )
  for (const [path, text] of types) {
    t.match(text, /^\/\/ Exports: \w/, path)
    t.equal(text, readFileSync(path, 'utf8'), `${path}: if the change is intended, run: node packages/api.mjs`)
  }
})
