import { readFileSync } from 'node:fs'
import t from 'tap'
import { globSync } from 'tinyglobby'

const CODE = ['src', 'control', 'pipelines', 'sinks'].map((folder) => `${folder}/**/*.ts`)
const TEXTS = [...CODE, 'config/full.yaml', 'README.md', 'ARCHITECTURE.md']

const read = (patterns: readonly string[]): string =>
  globSync(patterns.slice())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')

/** Words with a plain replacement, and how many are left. The number may only fall: lower it after each rewrite. */
const WORDS: readonly (readonly [word: RegExp, most: number, instead: string])[] = [
  [/\btold\b/gi, 175, 'returned, reported, shown, logged'],
  [/\bis none\b/gi, 65, 'is not a ...'],
  [/\bstands there\b/gi, 10, 'is a duplicate'],
  [/\bunder way\b/gi, 55, 'in progress, in flight'],
  [/\bwhoever\b/gi, 40, 'the client, the caller'],
  [/\b(?:MOST|LONGEST|LARGEST)_/g, 0, 'MAX_'],
  [/\bAT_ONCE\b/g, 0, 'CONCURRENCY or BATCH_SIZE'],
]

t.test('words with a plain replacement are not added', async (t) => {
  const all = read(TEXTS)
  for (const [word, most, instead] of WORDS) {
    const found = all.match(word)?.length ?? 0
    t.ok(found <= most, `${word.source}: ${found} found, ${most} allowed; write: ${instead}`)
  }
})

/** Names that were replaced, so that one idea has one word. */
const OLD_NAMES = [
  'ScriptShelf WebhookBook JobBook DomainBook namespaceBook ServedZones ServedLists ServedWorkers RuleBook UploadDesk',
  'saveSuccessor LogpushEngine PostureEngine WorkersEngine Surroundings AnswerSink AnswerReader AnswerWriter ClientAnswer',
  'CompressedAnswer RuledAnswer AssetAnswer AnswerHead RuleParts GuardParts FieldParts plainParts hearOut PageRing',
  'LogpushTask OpenBatch Breather takeRecords StandingJob InTurn storeOver OriginFault settleClasses settleDeployment settleHeap',
]

t.test('no replaced name is left', async (t) => {
  const all = read([...CODE, 'test/**/*.ts', '!test/wording.test.ts', '!**/node_modules/**', 'ARCHITECTURE.md'])
  for (const name of OLD_NAMES.join(' ').split(' ')) t.notOk(new RegExp(`\\b${name}\\b`).test(all), name)
})
