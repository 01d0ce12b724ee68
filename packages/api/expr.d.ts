// Exports: ADDED_FIELDS, BOOL, BUDGET_EXCEEDED, BYTES, Budget, Bytes, Checked, Context, Evaluate, ExprError, ExprErrorClass, Expression, ExpressionCache, ExpressionPlace, FIELDS, FUNCTIONS, Field, FieldInfo, Filter, FunctionDef, Getter, Getters, INT, IP, IndexedRule, Ip, Lint, Lists, Logical, MAX_LENGTH, NO_LISTS, NamedList, Param, ParseOptions, Path, REQUEST_GETTERS, REQUEST_STEPS, RequestView, RuleIndex, SCHEME, Scheme, SchemeOptions, Span, Type, UNLIMITED, Uses, Value, ValueExpression, acceptedLanguages, arrayOf, bytesList, check, compile, compileValue, contextOf, formatIp, headerMap, hostnameList, indexedRule, intList, ipList, lint, lintRules, mapOf, mediaType, parse, parseIp, parseIpRange, parseType, parseValue, pathExtension, pathOf, plainAddress, queryOf, refusalAt, toBytes, toText, unicodeTables

// ADDED_FIELDS: src/expr/fields/index.ts
export declare const ADDED_FIELDS: readonly AddedField[];

// BOOL: src/expr/language/types.ts
export declare const BOOL: Type;

// BUDGET_EXCEEDED: src/expr/language/budget.ts
export declare const BUDGET_EXCEEDED: BudgetExceeded;

// BYTES: src/expr/language/types.ts
export declare const BYTES: Type;

// Budget: src/expr/language/budget.ts
export interface Budget {
    spend(steps: number): void;
}

// Bytes: src/expr/language/value.ts
export type Bytes = string;

// Checked: src/expr/index.ts
export interface Checked {
    readonly error: ExprError | undefined;
    readonly lints: readonly Lint[];
}

// Context: src/expr/context.ts
export declare class Context implements Budget {
    #private;
    constructor(getters: Getters<unknown>, source: unknown, steps: number);
    get(slot: number): Value | undefined;
    spend(steps: number): void;
    forget(slots: readonly number[]): void;
}

// Evaluate: src/expr/compile.ts
export type Evaluate = (context: Context) => Value | undefined;

// ExprError: src/expr/error.ts
export declare class ExprError extends Error {
    readonly name = "ExprError";
    readonly class: ExprErrorClass;
    readonly line: number;
    readonly column: number;
    readonly length: number;
    readonly reason: string;
    constructor(kind: ExprErrorClass, reason: string, place: Place);
}

// ExprErrorClass: src/expr/error.ts
export type ExprErrorClass = 'ExpectedName' | 'ExpectedLiteral' | 'UnknownIdentifier' | 'EOF' | 'UnsupportedOp' | 'TypeMismatch' | 'InvalidIndexAccess' | 'InvalidMapEachAccess' | 'InvalidArgumentsCount' | 'InvalidArgumentKind' | 'InvalidArgumentType' | 'InvalidArgumentValue' | 'ParseInt' | 'ParseNetwork' | 'ParseRegex' | 'ParseWildcard' | 'IncompatibleRangeBounds' | 'InvalidCharacterEscape' | 'MissingEndingQuote' | 'CountMismatch' | 'InvalidListName' | 'InvalidRawStringHashCount' | 'NestingLimitExceeded' | 'ExpressionTooLong' | 'TooManyRegexes' | 'NotAllowedHere';

// Expression: src/expr/expression.ts
export interface Expression {
    readonly text: string;
    readonly scheme: Scheme;
    readonly root: Logical;
    readonly uses: Uses;
}

// ExpressionCache: src/expr/expression-cache.ts
export declare class ExpressionCache {
    #private;
    constructor(maxCharacters: number);
    tree<T extends Logical | Path>(text: string, scheme: Scheme, read: (text: string, scheme: Scheme) => T): T;
    clear(): void;
}

// ExpressionPlace: src/expr/usage.ts
export interface ExpressionPlace {
    readonly phase?: string;
    readonly member?: string;
}

// FIELDS: src/expr/fields/index.ts
export declare const FIELDS: readonly (FieldInfo | AddedField)[];

// FUNCTIONS: src/expr/functions/index.ts
export declare const FUNCTIONS: readonly FunctionDef[];

// Field: src/expr/language/scheme.ts
export interface Field {
    readonly name: string;
    readonly type: Type;
    readonly index: number;
    readonly aliasOf?: string | undefined;
    readonly constant?: boolean | undefined;
    readonly phases?: readonly string[] | undefined;
}

// FieldInfo: src/expr/fields/info.ts
export interface FieldInfo {
    readonly name: string;
    readonly type: Type;
    readonly group: 'request' | 'request_body' | 'geo' | 'raw' | 'response' | 'cloudflare' | 'detection' | 'account' | 'ratelimit_only' | 'constant';
    readonly description: string;
    readonly phases?: readonly string[];
    readonly mutable?: boolean;
    readonly aliasOf?: string;
    readonly deprecated?: boolean;
    readonly rawOf?: string;
}

// Filter: src/expr/compile.ts
export type Filter = (context: Context) => boolean;

// FunctionDef: src/expr/language/scheme.ts
export interface FunctionDef {
    readonly name: string;
    readonly params: readonly Param[];
    readonly optional: readonly Param[];
    readonly rest?: Param;
    readonly phases?: readonly string[];
    readonly valueOnly?: boolean;
    readonly once?: boolean;
    readonly reads?: readonly string[];
    returns(first: Type): Type;
    prepare(args: readonly ArgInfo[]): Callee;
    readonly callSteps?: number;
    prepareWithin?(args: readonly ArgInfo[]): (budget: Budget) => Callee;
}

// Getter: src/expr/context.ts
export type Getter<Source> = (source: Source, budget: Budget) => Value | undefined;

// Getters: src/expr/context.ts
export declare class Getters<Source> {
    readonly scheme: Scheme;
    readonly bySlot: readonly Getter<Source>[];
    readonly unread: readonly null[];
    constructor(scheme: Scheme, getters: Readonly<Record<string, Getter<Source>>>);
    context(source: Source, steps?: number): Context;
}

// INT: src/expr/language/types.ts
export declare const INT: Type;

// IP: src/expr/language/types.ts
export declare const IP: Type;

// IndexedRule: src/expr/rule-index.ts
export interface IndexedRule {
    readonly filter: Filter;
    readonly gates: Gates | undefined;
    readonly scheme: Scheme;
}

// Ip: src/expr/language/value.ts
export type Ip = number | string;

// Lint: src/expr/lint.ts
export interface Lint extends Span {
    readonly message: string;
}

// Lists: src/expr/lists.ts
export interface Lists {
    get(name: string, type: 'Int' | 'Bytes' | 'Ip'): NamedList | undefined;
}

// Logical: src/expr/ast.ts
export type Logical = Combination | {
    readonly kind: 'not';
    readonly item: Logical;
    readonly span: Span;
} | {
    readonly kind: 'group';
    readonly item: Logical;
    readonly span: Span;
} | {
    readonly kind: 'any' | 'all';
    readonly of: Arg;
    readonly span: Span;
} | Comparison;

// MAX_LENGTH: src/expr/index.ts
export declare const MAX_LENGTH = 4096;

// NO_LISTS: src/expr/lists.ts
export declare const NO_LISTS: Lists;

// NamedList: src/expr/lists.ts
export interface NamedList {
    has(value: Value): boolean;
}

// Param: src/expr/language/scheme.ts
export interface Param {
    readonly kind: 'field' | 'literal' | 'any';
    readonly expected: string;
    accepts(type: Type, first: Type | undefined): boolean;
    check?(arg: ArgInfo): string | undefined;
}

// ParseOptions: src/expr/index.ts
export interface ParseOptions extends ExpressionPlace {
    readonly scheme?: Scheme;
    readonly cache?: ExpressionCache;
}

// Path: src/expr/ast.ts
export interface Path {
    readonly kind: 'path';
    readonly base: {
        readonly kind: 'field';
        readonly field: Field;
    } | Call;
    readonly accesses: readonly Access[];
    readonly type: Type;
    readonly mapped: number;
    readonly span: Span;
}

// REQUEST_GETTERS: src/expr/request.ts
export declare const REQUEST_GETTERS: Getters;

// REQUEST_STEPS: src/expr/language/budget.ts
export declare const REQUEST_STEPS = 4000000;

// RequestView: src/expr/request.ts
export interface RequestView {
    readonly method: Bytes;
    readonly version: Bytes;
    readonly secure: boolean;
    readonly host: Bytes;
    readonly target: Bytes;
    readonly rawTarget: Bytes;
    readonly headers: readonly Bytes[];
    readonly clientIp: Ip | undefined;
    readonly receivedAt: number;
    readonly body?: {
        readonly bytes: Bytes;
        readonly size: number;
    } | undefined;
}

// RuleIndex: src/expr/rule-index.ts
export declare class RuleIndex {
    #private;
    constructor(rules: readonly IndexedRule[], lists?: Lists);
    static inSteps(rules: readonly IndexedRule[], lists?: Lists): Generator<undefined, RuleIndex>;
    get all(): readonly number[];
    get size(): number;
    candidates(context: Context): readonly number[];
    matches(rule: number, context: Context): boolean;
    matching(context: Context): number[];
    first(context: Context): number;
}

// SCHEME: src/expr/index.ts
export declare const SCHEME: Scheme;

// Scheme: src/expr/language/scheme.ts
export declare class Scheme {
    #private;
    readonly fields: readonly Field[];
    readonly functions: ReadonlyMap<string, FunctionDef>;
    readonly missingNotEqual: boolean;
    readonly slots: number;
    constructor(fields: readonly Omit<Field, 'index'>[], functions: readonly FunctionDef[], { missingNotEqual }?: SchemeOptions);
    field(name: string): Field | undefined;
}

// SchemeOptions: src/expr/language/scheme.ts
export interface SchemeOptions {
    readonly missingNotEqual?: boolean;
}

// Span: src/expr/ast.ts
export interface Span {
    readonly start: number;
    readonly end: number;
}

// Type: src/expr/language/types.ts
export interface Type {
    readonly kind: 'Bool' | 'Int' | 'Ip' | 'Bytes' | 'Array' | 'Map';
    readonly name: string;
    readonly of: Type | undefined;
}

// UNLIMITED: src/expr/language/budget.ts
export declare const UNLIMITED: Budget;

// Uses: src/expr/usage.ts
export interface Uses {
    readonly fields: ReadonlySet<Field>;
    readonly functions: ReadonlySet<string>;
    readonly lists: readonly {
        readonly name: string;
        readonly type: 'Int' | 'Bytes' | 'Ip';
        readonly span: Span;
    }[];
    readonly regexes: number;
}

// Value: src/expr/language/value.ts
export type Value = boolean | number | string | readonly Value[] | ReadonlyMap<string, Value>;

// ValueExpression: src/expr/expression.ts
export interface ValueExpression extends Omit<Expression, 'root'> {
    readonly root: Path;
    readonly type: Type;
}

// acceptedLanguages: src/expr/derived.ts
export declare function acceptedLanguages(header: string, budget: Budget): string[];

// arrayOf: src/expr/language/types.ts
export declare const arrayOf: (of: Type) => Type;

// bytesList: src/expr/lists.ts
export declare function bytesList(items: readonly string[]): NamedList;

// check: src/expr/index.ts
export declare function check(text: string, options?: ParseOptions): Checked;

// compile: src/expr/index.ts
export declare function compile({ root, scheme }: Expression, lists?: Lists): Filter;

// compileValue: src/expr/index.ts
export declare function compileValue({ root, scheme }: ValueExpression, lists?: Lists): Evaluate;

// contextOf: src/expr/context.ts
export declare function contextOf(scheme: Scheme, values: ReadonlyMap<string, Value>): Context;

// formatIp: src/expr/language/ip.ts
export declare function formatIp(ip: Ip): string;

// headerMap: src/expr/request.ts
export declare function headerMap(headers: readonly Bytes[]): ReadonlyMap<Bytes, readonly Bytes[]>;

// hostnameList: src/expr/lists.ts
export declare function hostnameList(items: readonly string[]): NamedList;

// indexedRule: src/expr/rule-index.ts
export declare const indexedRule: ({ root, scheme }: Expression, lists?: Lists) => IndexedRule;

// intList: src/expr/lists.ts
export declare function intList(items: readonly number[]): NamedList;

// ipList: src/expr/lists.ts
export declare function ipList(items: readonly string[]): NamedList;

// lint: src/expr/lint.ts
export declare function lint({ root }: {
    readonly root: Logical | Path;
}): Lint[];

// lintRules: src/expr/lint.ts
export declare function lintRules(rules: readonly {
    readonly expression: Expression;
    readonly terminating: boolean;
}[]): {
    readonly hidden: number;
    readonly hider: number;
}[];

// mapOf: src/expr/language/types.ts
export declare const mapOf: (of: Type) => Type;

// mediaType: src/expr/derived.ts
export declare const mediaType: (contentType: string) => string;

// parse: src/expr/index.ts
export declare function parse(text: string, options?: ParseOptions): Expression;

// parseIp: src/expr/language/ip.ts
export declare function parseIp(text: string): Ip | undefined;

// parseIpRange: src/expr/language/ip.ts
export declare function parseIpRange(text: string): IpRange | {
    reason: string;
    kind: 'ParseNetwork' | 'IncompatibleRangeBounds';
    from: number;
    to: number;
};

// parseType: src/expr/language/types.ts
export declare function parseType(text: string): Type;

// parseValue: src/expr/index.ts
export declare function parseValue(text: string, options?: ParseOptions): ValueExpression;

// pathExtension: src/expr/derived.ts
export declare function pathExtension(path: string): string;

// pathOf: src/expr/request.ts
export declare function pathOf(target: Bytes): Bytes;

// plainAddress: src/expr/language/ip.ts
export declare const plainAddress: (address: string) => string;

// queryOf: src/expr/request.ts
export declare function queryOf(target: Bytes): Bytes;

// refusalAt: src/expr/index.ts
export declare function refusalAt(text: string, reason: string, { start, end }: Span): ExprError;

// toBytes: src/expr/language/value.ts
export declare function toBytes(text: string): Bytes;

// toText: src/expr/language/value.ts
export declare function toText(bytes: Bytes): string;

// unicodeTables: src/expr/regex/unicode.ts
export declare function unicodeTables(text: string): Generator<undefined, void>;

// Access: src/expr/ast.ts
export type Access = {
    readonly kind: 'index';
    readonly index: number;
} | {
    readonly kind: 'key';
    readonly key: Bytes;
} | {
    readonly kind: 'each';
};

// AddedField: src/expr/fields/plugin.ts
export interface AddedField extends FieldInfo {
    readonly read: (request: unknown) => Value | undefined;
}

// Arg: src/expr/ast.ts
export type Arg = Path | Literal | {
    readonly kind: 'logical';
    readonly expr: Logical;
    readonly span: Span;
};

// ArgInfo: src/expr/language/scheme.ts
export interface ArgInfo {
    readonly type: Type;
    readonly literal: Bytes | Ip | undefined;
    readonly field: string | undefined;
}

// BudgetExceeded: src/expr/language/budget.ts
declare class BudgetExceeded extends Error {
    readonly name = "BudgetExceeded";
}

// Call: src/expr/ast.ts
export interface Call {
    readonly kind: 'call';
    readonly function: FunctionDef;
    readonly args: readonly Arg[];
    readonly type: Type;
    readonly mapped: boolean;
}

// Callee: src/expr/language/scheme.ts
export type Callee = (...args: (Value | undefined)[]) => Value | undefined;

// Combination: src/expr/ast.ts
export interface Combination {
    readonly kind: 'and' | 'or' | 'xor';
    readonly items: readonly Logical[];
    readonly span: Span;
}

// Comparison: src/expr/ast.ts
export interface Comparison {
    readonly kind: 'compare';
    readonly left: Path;
    readonly test: Test;
    readonly span: Span;
}

// Gate: src/expr/prefilter.ts
export type Gate = {
    readonly path: Path;
} & ({
    readonly kind: 'equal';
    readonly value: Value;
    readonly folded: boolean;
} | {
    readonly kind: 'prefix' | 'contains';
    readonly text: Bytes;
} | {
    readonly kind: 'ip';
    readonly range: IpRange;
});

// Gates: src/expr/prefilter.ts
export interface Gates {
    readonly gates: readonly Gate[];
    readonly share: number;
}

// Getters: src/expr/request.ts
type Getters = Readonly<Record<string, Getter<RequestView>>>;

// IpRange: src/expr/language/ip.ts
export interface IpRange {
    readonly first: Ip;
    readonly last: Ip;
}

// Literal: src/expr/ast.ts
export type Literal = {
    readonly kind: 'literal';
    readonly type: Type;
    readonly value: Bytes | Ip | bigint;
    readonly span: Span;
};

// OrderOp: src/expr/ast.ts
export type OrderOp = '==' | '!=' | '<' | '<=' | '>' | '>=';

// Place: src/expr/error.ts
interface Place {
    line: number;
    column: number;
    length: number;
    text: string;
    marks: string;
}

// Regex: src/expr/regex/index.ts
export interface Regex {
    readonly pattern: Bytes;
    readonly engine: 'backtracking' | 'automaton' | 'simulation';
    readonly groups: number;
    readonly required: readonly string[] | undefined;
    build(): void;
    test(text: Bytes, budget?: Budget): boolean;
    exec(text: Bytes, budget?: Budget): number[] | undefined;
}

// Test: src/expr/ast.ts
export type Test = {
    readonly op: 'true';
} | {
    readonly op: OrderOp;
    readonly type: 'Int';
    readonly value: bigint;
} | {
    readonly op: OrderOp;
    readonly type: 'Bytes';
    readonly value: Bytes;
} | {
    readonly op: OrderOp;
    readonly type: 'Ip';
    readonly value: Ip;
} | {
    readonly op: 'in';
    readonly type: 'Int';
    readonly ranges: readonly (readonly [
        bigint,
        bigint
    ])[];
} | {
    readonly op: 'in';
    readonly type: 'Bytes';
    readonly values: readonly Bytes[];
} | {
    readonly op: 'in';
    readonly type: 'Ip';
    readonly ranges: readonly IpRange[];
} | {
    readonly op: 'list';
    readonly type: 'Int' | 'Bytes' | 'Ip';
    readonly list: string;
} | {
    readonly op: '&';
    readonly value: bigint;
} | {
    readonly op: 'contains';
    readonly value: Bytes;
} | {
    readonly op: 'matches';
    readonly regex: Regex;
} | {
    readonly op: 'wildcard';
    readonly wildcard: Wildcard;
};

// Wildcard: src/expr/language/wildcard.ts
export interface Wildcard {
    readonly pattern: Bytes;
    readonly strict: boolean;
    readonly parts: readonly Bytes[];
    test(text: Bytes, budget: Budget): boolean;
    exec(text: Bytes, budget: Budget): Bytes[] | undefined;
}
