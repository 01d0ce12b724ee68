import { readFileSync } from 'node:fs'
import t from 'tap'
import { globSync } from 'tinyglobby'

const CODE = ['src', 'control', 'pipelines', 'sinks'].map((folder) => `${folder}/**/*.ts`)
const TEXTS = [...CODE, 'config/full.yaml', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/*.md']

const read = (patterns: readonly string[]): string =>
  globSync(patterns.slice())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')

/** Words and phrases with a plain replacement. */
const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\btold\b/gi, 'returned, reported, shown, logged'],
  [/(?<!\b(?:there|it|this|that) )\bis none\b/gi, 'is not a ...'],
  [/\bis none (?:of|for)\b/gi, 'is not one of ...'],
  [/\bstands there\b/gi, 'is a duplicate, is at ...'],
  [/\bunder way\b/gi, 'in progress, in flight'],
  [/\bwhoever\b/gi, 'the client, the caller'],
  [/\b(?:MOST|LONGEST|LARGEST)(?:_|\b)/g, 'MAX_'],
  [/\bAT_ONCE\b/g, 'CONCURRENCY or BATCH_SIZE'],
]

t.test('words with a plain replacement are not used', async (t) => {
  const files = globSync(TEXTS)
  for (const [word, instead] of WORDS) {
    const found = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, at) => (line.search(word) < 0 ? [] : [`${file}:${at + 1}`])),
    )
    t.same(found, [], `${word.source}: write ${instead}`)
  }
})

/** Names that were replaced, so that one idea has one word. */
const OLD_NAMES = [
  'ScriptShelf WebhookBook JobBook DomainBook namespaceBook ServedZones ServedLists ServedWorkers RuleBook UploadDesk',
  'saveSuccessor LogpushEngine PostureEngine WorkersEngine Surroundings AnswerSink AnswerReader AnswerWriter ClientAnswer',
  'CompressedAnswer RuledAnswer AssetAnswer AnswerHead RuleParts GuardParts FieldParts plainParts hearOut PageRing',
  'shelf shelfOf tallies ListTold toldWith toldMissing SettleInput SettledDeployment outlet laneKey desk mostBytes mostKeys',
  'LogpushTask OpenBatch Breather takeRecords StandingJob InTurn storeOver OriginFault settleClasses settleDeployment settleHeap',
]

t.test('no replaced name is left', async (t) => {
  const all = read([...CODE, 'test/**/*.ts', '!test/wording.test.ts', '!**/node_modules/**', 'ARCHITECTURE.md'])
  for (const name of OLD_NAMES.join(' ').split(' ')) t.notOk(new RegExp(`\\b${name}\\b`).test(all), name)
})
