import t from 'tap'
import { sqlStatements } from '../../src/workers/storage/sql-statements.js'

const CASES: readonly (readonly [what: string, sql: string, statements: readonly string[]])[] = [
  ['two statements', 'SELECT 1; SELECT 2', ['SELECT 1;', 'SELECT 2']],
  ['nothing but comments', '-- a;\n/* b; */ ;;', []],
  [
    'semicolons in strings and names',
    `SELECT ';''', ";", [;], \`;\`; SELECT 2;`,
    [`SELECT ';''', ";", [;], \`;\`;`, 'SELECT 2;'],
  ],
  ['a comment that does not end', 'SELECT 1; /* x;', ['SELECT 1;']],
  [
    'a trigger',
    'CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET b = CASE WHEN 1 THEN 2 END; DELETE FROM u; END; SELECT 1',
    [
      'CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET b = CASE WHEN 1 THEN 2 END; DELETE FROM u; END;',
      'SELECT 1',
    ],
  ],
  ['columns named begin and end', 'SELECT begin, case FROM t; SELECT 2', ['SELECT begin, case FROM t;', 'SELECT 2']],
]
for (const [what, sql, statements] of CASES)
  t.test(`${what} are split`, async (t) => {
    t.same(sqlStatements(sql), statements)
  })
