/** What editors of expressions need: every error with a fix, and the expression as a tree. */
export { allErrors, type CheckList, type FoundError } from './all-errors.js'
export { treeOf, type Tree } from './tree.js'
