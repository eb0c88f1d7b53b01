import SwiftOperators
import SwiftParser
import SwiftSyntax

/// Finds the places in one file where mutants can be planted, and plants them.
final class Planter: SyntaxVisitor {
  let file: String
  let source: [UInt8]
  let first: Int
  let dropped: Set<String>
  var sites: [Site] = []
  var edits = Edits()
  private var next: Int
  private var lines: [Int] = [0]
  private var repetitions: [String: Int] = [:]
  private var scopes: [String] = []
  private var onceDepth = 0
  /// The conditions that already have mutants with the values true and false.
  var forced: Set<SyntaxIdentifier> = []

  /// Creates a planter for one file.
  ///
  /// - Parameters:
  ///   - first: The number of the file's first mutant.
  ///   - dropped: The keys of mutants that get a number but are not planted.
  init(file: String, source: [UInt8], first: Int, dropped: Set<String>) {
    self.file = file
    self.source = source
    self.first = first
    self.dropped = dropped
    next = first
    super.init(viewMode: .sourceAccurate)
    for (index, byte) in source.enumerated() where byte == UInt8(ascii: "\n") {
      lines.append(index + 1)
    }
    let tree = Parser.parse(source: String(decoding: source, as: UTF8.self))
    walk(OperatorTable.standardOperators.foldAll(tree) { _ in })
  }

  /// The number after that of the file's last mutant.
  var end: Int { next }

  /// Returns the text of the copy, and the offset in it of each byte of the source.
  func planted() -> (text: [UInt8], places: [Int]) {
    var edits = edits
    if sites.contains(where: \.isPlanted) { edits.prepend("public import Mutants; ", at: 0) }
    return edits.apply(to: source)
  }

  /// Numbers the mutants of a node, and plants them unless they were dropped.
  ///
  /// - Parameters:
  ///   - range: The range in which compiler errors blame the mutants, if smaller than the node.
  ///   - plant: Makes the edits, given the number of the first mutant.
  ///   - second: Makes the edits for only the second of two mutants, given its number, if the first
  ///     was dropped.
  func site(
    _ node: some SyntaxProtocol, _ mutants: [(Mutant.Kind, before: String, after: String)],
    range: Range<Int>? = nil, _ plant: (Int, inout Edits) -> Void,
    second: ((Int, inout Edits) -> Void)? = nil
  ) {
    let made = mutants.map { mutant(mutant: $0, at: node.start) }
    let isDropped = made.map { dropped.contains($0.key) }
    let isSecondAlone = second != nil && isDropped == [true, false]
    if isSecondAlone {
      second?(next + 1, &edits)
    } else if !isDropped.contains(true) {
      plant(next, &edits)
    }
    for (index, mutant) in made.enumerated() {
      let isPlanted = isSecondAlone ? index == 1 : !isDropped.contains(true)
      sites.append(
        Site(
          number: next + index, mutant: mutant, range: range ?? node.bytes, isPlanted: isPlanted))
    }
    next += made.count
  }

  private func mutant(
    mutant: (kind: Mutant.Kind, before: String, after: String), at start: Int
  ) -> Mutant {
    var made = Mutant(
      kind: mutant.kind, file: file, line: line(of: start), scope: scopes.joined(separator: "."),
      before: Self.short(mutant.before), after: Self.short(mutant.after), repetition: 0,
      isOnce: onceDepth > 0)
    let key = made.key
    made.repetition = repetitions[key, default: 0]
    repetitions[key] = made.repetition + 1
    return made
  }

  /// Returns the line of a byte, counted from 1.
  private func line(of offset: Int) -> Int {
    var (low, high) = (0, lines.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if lines[middle] <= offset { low = middle } else { high = middle }
    }
    return low + 1
  }

  /// Returns a text as one line of at most 160 characters.
  private static func short(_ text: String) -> String {
    let words = text.split { $0.isWhitespace }.joined(separator: " ")
    return words.count <= 160 ? words : words.prefix(157) + "..."
  }

  // The enclosing declarations.

  private func enter(_ name: String) -> SyntaxVisitorContinueKind {
    scopes.append(name)
    return .visitChildren
  }

  private func leave() { scopes.removeLast() }

  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.name.text)
  }
  override func visitPost(_: StructDeclSyntax) { leave() }

  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.name.text)
  }
  override func visitPost(_: EnumDeclSyntax) { leave() }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.name.text)
  }
  override func visitPost(_: ClassDeclSyntax) { leave() }

  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.name.text)
  }
  override func visitPost(_: ProtocolDeclSyntax) { leave() }

  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.extendedType.trimmedDescription)
  }
  override func visitPost(_: ExtensionDeclSyntax) { leave() }

  /// Skips arguments named `capacity`: reserved capacity affects only the running time.
  override func visit(_ node: LabeledExprSyntax) -> SyntaxVisitorContinueKind {
    node.label?.text == "capacity" ? .skipChildren : .visitChildren
  }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    let labels = node.signature.parameterClause.parameters.map { $0.firstName.text + ":" }
    _ = enter("\(node.name.text)(\(labels.joined()))")
    guard node.name.text != "hash" else { return .skipChildren }
    if let body = node.body, let type = node.signature.returnClause?.type {
      implicitResult(body.statements, type)
    }
    return .visitChildren
  }
  override func visitPost(_: FunctionDeclSyntax) { leave() }

  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    let labels = node.signature.parameterClause.parameters.map { $0.firstName.text + ":" }
    return enter("init(\(labels.joined()))")
  }
  override func visitPost(_: InitializerDeclSyntax) { leave() }

  override func visit(_ node: SubscriptDeclSyntax) -> SyntaxVisitorContinueKind {
    _ = enter("subscript")
    if case .getter(let items)? = node.accessorBlock?.accessors {
      implicitResult(items, node.returnClause.type)
    }
    return .visitChildren
  }
  override func visitPost(_: SubscriptDeclSyntax) { leave() }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    let name = node.bindings.first?.pattern.trimmedDescription ?? "_"
    let isLocal = node.isLocal
    if !isLocal { scopes.append(name) }
    let isStatic = node.modifiers.contains { $0.name.text == "static" }
    if isStatic || (scopes.count == 1 && !isLocal) { onceDepth += 1 }
    // Descriptions for people are not mutated.
    if ["description", "debugDescription", "customMirror"].contains(name) { return .skipChildren }
    if let binding = node.bindings.first, let type = binding.typeAnnotation?.type,
      case .getter(let items)? = binding.accessorBlock?.accessors
    {
      implicitResult(items, type)
    }
    return .visitChildren
  }
  override func visitPost(_ node: VariableDeclSyntax) {
    let isLocal = node.isLocal
    let isStatic = node.modifiers.contains { $0.name.text == "static" }
    if isStatic || (scopes.count == 1 && !isLocal) { onceDepth -= 1 }
    if !isLocal { leave() }
  }

  // Syntax that is never mutated.

  override func visit(_: AttributeListSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_: EnumCaseDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_: KeyPathExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_: ExpressionPatternSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

  // Syntax that is mutated: see the other files.

  override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
    condition(node)
    return .visitChildren
  }

  override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
    narrowing(node)
    return .visitChildren
  }

  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    infix(node)
    return .visitChildren
  }

  override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    prefix(node)
    return .visitChildren
  }

  override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
    ternary(node)
    return .visitChildren
  }

  override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    integer(node)
    return .skipChildren
  }

  override func visit(_ node: FloatLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    number(node)
    return .skipChildren
  }

  override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    truth(node)
    return .skipChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    if node.isProof { return .skipChildren }
    extremes(node)
    arguments(node)
    return .visitChildren
  }

  override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
    ends(node)
    return .visitChildren
  }

  override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
    statement(node)
    return .visitChildren
  }

  override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
    if let value = node.expression, let type = node.resultType { result(value, type) }
    return .visitChildren
  }
}
