/** Limits the work that the evaluation of expressions may take. */
export interface Budget {
  /** Takes steps of work from the budget. Throws {@link BUDGET_EXCEEDED} if fewer are left. */
  spend(steps: number): void
}

/** For evaluations outside of requests, such as those of the command line. */
export const UNLIMITED: Budget = { spend() {} }

/**
 * Steps for one request, all its rules together. A step takes about 5 ns: one state of a regular expression at one byte,
 * or two bytes of a plain search. So the expressions of a request take about 20 ms at most on an idle machine.
 */
export const REQUEST_STEPS = 4_000_000

class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded'
}

/** Thrown by expressions beyond the budget. One object: it may be thrown for each of thousands of rules of a request. */
export const BUDGET_EXCEEDED = new BudgetExceeded('the budget of steps for one request is used up')
