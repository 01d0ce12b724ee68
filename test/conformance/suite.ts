import { inspect, isDeepStrictEqual } from 'node:util'

/** One thing to try: what should come, and how to get what does come. A throw counts as a failure. */
export interface Case {
  name: string
  expected: unknown
  got(): unknown
}

/** A data file's cases, run against the product's own code. */
export interface Suite {
  name: string
  /** The file under `test/fixtures` that is run when no file is named. */
  fixture?: string
  /** Returns the folder of a suite that is not part of this repository; undefined if none is named. */
  folder?(): string | undefined
  /** What to do if that folder does not exist; the suite is skipped then. */
  missing?: string
  /** What the figures do and do not say. */
  note?: string
  cases(file: string): Iterable<Case> | Promise<Iterable<Case>>
}

const print = (value: unknown) => inspect(value, { depth: Infinity, maxStringLength: 2000, breakLength: 110 })

async function outcome({ expected, got }: Case): Promise<string | undefined> {
  try {
    const value = await got()
    return isDeepStrictEqual(value, expected) ? undefined : print(value)
  } catch (error) {
    return `thrown: ${print(error)}`
  }
}

/** Runs a suite, prints each failure and the totals. A suite without cases has failed: its file is not what it should be. */
export async function runSuite(
  suite: Suite,
  file: string,
  log: (line: string) => void,
): Promise<{ passed: number; failed: number }> {
  let [passed, failed] = [0, 0]
  for (const item of await suite.cases(file)) {
    const wrong = await outcome(item)
    if (wrong === undefined) passed++
    else {
      failed++
      log(`FAILED ${item.name}\n  expected ${print(item.expected)}\n  got      ${wrong}`)
    }
  }
  if (passed + failed === 0) {
    failed++
    log(`FAILED ${suite.name}: no cases in ${file}`)
  }
  if (suite.note !== undefined) log(suite.note)
  log(`${passed} passed, ${failed} failed`)
  return { passed, failed }
}
