/** The container image: checks, without an engine, that it contains all that it builds and runs. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const copied = (stage: string): string[] =>
  [...stage.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '))

t.test('every folder that is compiled is copied into the image', async (t) => {
  const [, build = '', run = ''] = readFileSync('Dockerfile', 'utf8').split(/^FROM /m)
  const { include }: { include: string[] } = JSON.parse(readFileSync('tsconfig.json', 'utf8'))
  t.strictSame(
    include.filter((folder) => !copied(build).includes(folder)),
    [],
  )
  const all = [...copied(build), ...copied(run)]
  t.ok(all.length > include.length)
  t.strictSame(
    all.filter((source) => !existsSync(source)),
    [],
  )
})
