/** Limit on the work of evaluating expressions. */
export interface Budget {
  /** Deducts steps of work from the budget. Throws {@link BUDGET_EXCEEDED} if fewer are left. */
  spend(steps: number): void
}

/** Budget for evaluations outside of requests, for example on the command line. */
export const UNLIMITED: Budget = { spend() {} }

/**
 * Steps for all rules of one request. A step takes about 5 ns, for one state of a regular expression at one byte, or
 * two bytes of a plain search. The expressions of a request thus take at most about 20 ms on an idle machine.
 */
export const REQUEST_STEPS = 4_000_000

/** Cost of copying a text into a buffer and back, in addition to the cost of its bytes. */
export const BUFFER_STEPS = 150

class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded'
}

/** Error of expressions that exceed the budget. One object, because thousands of rules of one request may throw it. */
export const BUDGET_EXCEEDED = new BudgetExceeded('the budget of steps for one request is used up')
