import { readFileSync } from 'node:fs'
import { compileTemplate, TemplateError } from '../../pipelines/records/index.js'
import type { Case, Suite } from './suite.js'

interface Document {
  fields: Record<string, string>
  cases: { name: string; template: string; want?: string; reject?: boolean }[]
}

function outcome(template: string, fields: ReadonlyMap<string, string>): unknown {
  try {
    return compileTemplate(template)(fields)
  } catch (error) {
    if (error instanceof TemplateError) return { refused: true }
    throw error
  }
}

function* casesOf({ fields, cases }: Document): Generator<Case> {
  const texts = new Map(Object.entries(fields))
  for (const { name, template, want } of cases) {
    yield { name: `${name}: ${template}`, expected: want ?? { refused: true }, got: () => outcome(template, texts) }
  }
}

/** Record templates with the output of Go's own package, or its refusal. */
export const template: Suite = {
  name: 'template',
  fixture: 'template-cases.json',
  cases: (file) => casesOf(JSON.parse(readFileSync(file, 'utf8')) as Document),
}
