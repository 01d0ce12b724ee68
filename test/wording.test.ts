import { readFileSync } from 'node:fs'
import t from 'tap'
import { globSync } from 'tinyglobby'

const CODE = ['src', 'control', 'pipelines', 'sinks'].map((folder) => `${folder}/**/*.ts`)
const TEXTS = [
  ...CODE,
  'config/full.yaml',
  'README.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'docs/**/*.md',
]

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

/** Returns the texts of all comments of the code, without code in them. */
const COMMENTS = globSync(CODE).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/\/\*\*?([\s\S]*?)\*\/|^\s*\/\/(.*)$/gm)].map(([, block, line]) =>
    (block ?? line ?? '')
      .replaceAll(/^\s*\*\s?/gm, ' ')
      .replaceAll(/`[^`]*`|\{@[^}]*\}/g, 'X')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  ),
)

/** Forms that make a reader look for the noun, and how many of 1,000 sentences may have them. A budget only falls. */
const BUDGETS: readonly (readonly [form: string, pattern: RegExp, budget: number])[] = [
  [
    'a clause with "what" in place of a noun',
    /\bwhat (?:is|are|it|they|the|an?|was|were|has|have|no|this|that)\b/gi,
    2,
  ],
  ['"that of" and "those of"', /\b(?:that|those) of\b/gi, 0.5],
  ['"of it", "of them" and "of which"', /\bof (?:it|them|which)\b/gi, 1],
  ['"Undefined:"', /\bUndefined:/g, 0],
  ['a colon or semicolon in front of a clause', /[;:] (?=[a-z])/g, 30],
]

t.test('comments repeat the noun and end their sentences', async (t) => {
  const text = COMMENTS.join(' \n ')
  const sentences = text.match(/[.!?](?:\s|$)|\n/g)?.length ?? 0
  t.ok(sentences > 10_000, 'comments are found')
  for (const [form, pattern, budget] of BUDGETS) {
    const found = ((text.match(pattern)?.length ?? 0) / sentences) * 1000
    t.ok(found <= budget, `${form}: ${found.toFixed(1)} of 1,000 sentences, at most ${budget}`)
  }
})
