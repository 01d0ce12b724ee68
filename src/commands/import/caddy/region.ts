import { allOf, FIRST_PATH, noneOf, PATH, type Condition, type PathCondition } from '../site/condition.js'
import { intersection } from '../site/layers.js'
import type { Matcher } from './matchers.js'

/** The requests that reach a directive. */
export class Region {
  /** Conditions on the path as it arrived, after a rewrite. */
  readonly #before: readonly PathCondition[]
  readonly #now: readonly PathCondition[]
  /** Patterns of `paths` for the region, and those that are no part of it. */
  readonly globs: readonly string[]
  readonly except: readonly string[]
  /** The patterns say exactly which requests the region has. */
  readonly isByPath: boolean
  /** Beginning of the path that `handle_path` has removed. */
  readonly prefix: string

  constructor(
    options: {
      before?: readonly PathCondition[]
      now?: readonly PathCondition[]
      globs?: readonly string[]
      except?: readonly string[]
      isByPath?: boolean
      prefix?: string
    } = {},
  ) {
    this.#before = options.before ?? []
    this.#now = options.now ?? []
    this.globs = options.globs ?? ['*']
    this.except = options.except ?? []
    this.isByPath = options.isByPath ?? true
    this.prefix = options.prefix ?? ''
  }

  /** The condition for phases before a rewrite. */
  get early(): Condition {
    return allOf(...[...this.#before, ...this.#now].map((each) => each(PATH)))
  }

  /** The condition for phases after all rewrites. */
  get late(): Condition {
    return allOf(...this.#before.map((each) => each(FIRST_PATH)), ...this.#now.map((each) => each(PATH)))
  }

  /** Returns the part of the region that a matcher selects. */
  within({ when, paths, otherPaths }: Matcher, prefix = this.prefix): Region {
    const globs = paths?.flatMap((a) => this.globs.flatMap((b) => intersection(a, b) ?? []))
    return new Region({
      before: this.#before,
      now: [...this.#now, when],
      globs: globs ?? this.globs,
      except: [...this.except, ...(otherPaths ?? [])],
      isByPath: this.isByPath && (paths !== undefined || otherPaths !== undefined),
      prefix,
    })
  }

  /** Returns the part of the region that a matcher does not select. */
  without({ when, paths }: Matcher): Region {
    return new Region({
      before: this.#before,
      now: [...this.#now, (field) => noneOf(when(field))],
      globs: this.globs,
      except: [...this.except, ...(paths ?? [])],
      isByPath: this.isByPath,
      prefix: this.prefix,
    })
  }

  /** Returns the region as it is known after rules have changed the path. */
  afterRewrite(): Region {
    const { globs, except, isByPath, prefix } = this
    return new Region({ before: [...this.#before, ...this.#now], globs, except, isByPath, prefix })
  }
}
