export class RuleIndex {}
