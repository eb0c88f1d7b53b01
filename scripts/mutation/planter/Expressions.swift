import SwiftSyntax

// Mutants of operators, arguments and constants.
extension Planter {
  func infix(_ node: InfixOperatorExprSyntax) {
    guard let token = node.operator.as(BinaryOperatorExprSyntax.self)?.operator else { return }
    let (left, right) = (node.leftOperand.trimmedDescription, node.rightOperand.trimmedDescription)
    let text = node.trimmedDescription
    let comparisons = [
      "<": ("mutantLess", "<="), "<=": ("mutantLessOrEqual", "<"), ">": ("mutantMore", ">="),
      ">=": ("mutantMoreOrEqual", ">"),
    ]
    let opposites = ["<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="]
    if let opposite = opposites[token.text], !forced.contains(node.id) {
      wrap(ExprSyntax(node), "mutantNot", .negation, after: "\(left) \(opposite) \(right)")
    }
    if let (function, other) = comparisons[token.text] {
      call(node, token, function, [(.boundary, text, "\(left) \(other) \(right)")])
      return
    }
    switch token.text {
    case "&&": call(node, token, "mutantAnd", [(.operand, text, right), (.operand, text, left)])
    case "||": call(node, token, "mutantOr", [(.operand, text, right), (.operand, text, left)])
    case "??":
      site(node, [(.operand, text, right)]) { number, edits in
        edits.wrap(node.leftOperand.bytes, "mutantNil(\(number), ", ")")
      }
    case "+" where node.isOfText:
      call(node, token, "mutantLeft", [(.operand, text, left)], more: ", +")
    case "+":
      call(
        node, token, "mutantPlus",
        [(.arithmetic, text, "\(left) - \(right)"), (.operand, text, left)], second: ", +")
    case "-":
      call(
        node, token, "mutantMinus",
        [(.arithmetic, text, "\(left) + \(right)"), (.operand, text, left)], second: ", -")
    case "*", "/", "%", "<<", ">>", "&", "|", "^", "&+", "&-", "&*", "&<<", "&>>":
      call(node, token, "mutantLeft", [(.operand, text, left)], more: ", \(token.text)")
    case _: return
    }
  }

  /// Replaces an operator with a call.
  ///
  /// - Parameter second: The operator for operands of different types, for which only the second
  ///   mutant, which drops an operand, compiles.
  private func call(
    _ node: InfixOperatorExprSyntax, _ token: TokenSyntax, _ function: String,
    _ mutants: [(Mutant.Kind, before: String, after: String)], more: String = "",
    second: String? = nil
  ) {
    // In the copy, the operator becomes a comma.
    func edit(_ function: String, _ more: String) -> (Int, inout Edits) -> Void {
      { number, edits in
        edits.wrap(node.bytes, "\(function)(\(number), ", "\(more))")
        edits.replace(token.bytes, ",")
      }
    }
    site(node, mutants, edit(function, more), second: second.map { edit("mutantLeft", $0) })
  }

  func prefix(_ node: PrefixOperatorExprSyntax) {
    guard node.operator.text == "!", !forced.contains(node.id) else { return }
    wrap(ExprSyntax(node), "mutantNot", .negation, after: node.expression.trimmedDescription)
  }

  func ternary(_ node: TernaryExprSyntax) {
    let condition = node.condition
    guard !condition.bare.isMutatedTruth else { return }
    wrap(condition, "mutantNot", .negation, after: "!(\(condition.trimmedDescription))")
  }

  /// Changes a constant: to the next number below 10, to a neighbor for characters and masks, and
  /// else to twice the number.
  func integer(_ node: IntegerLiteralExprSyntax) {
    let text = node.literal.text
    if let list = node.parent?.parent?.as(ArrayElementListSyntax.self), list.count > 8 { return }
    let digits = text.filter { $0 != "_" }
    let value =
      digits.hasPrefix("0x") ? UInt64(digits.dropFirst(2), radix: 16) : UInt64(digits, radix: 10)
    guard let value else { return }
    let isPlain = !digits.hasPrefix("0x") && (10...63).contains(value) || value > 255
    let other: UInt64 = isPlain && value < 1 << 31 ? value * 2 : value == 127 ? 126 : value ^ 1
    let changed = value < 10 ? value + 1 : other
    literal(ExprSyntax(node), "mutantInteger", "\(changed)")
  }

  func number(_ node: FloatLiteralExprSyntax) {
    guard let value = Double(node.literal.text.filter { $0 != "_" }) else { return }
    literal(ExprSyntax(node), "mutantNumber", "\(value == 0 ? 1 : value * 2)")
  }

  private func literal(_ node: ExprSyntax, _ function: String, _ other: String) {
    let text = node.trimmedDescription
    let around = node.line
    site(
      node, [(.constant, around ?? text, around.map { _ in "\(text) becomes \(other)" } ?? other)]
    ) {
      number, edits in
      edits.wrap(node.bytes, "\(function)(\(number), ", ", \(other))")
    }
  }

  func truth(_ node: BooleanLiteralExprSyntax) {
    if node.parent?.is(ConditionElementSyntax.self) == true { return }
    let text = node.literal.text
    let around = ExprSyntax(node).line ?? text
    let other = text == "true" ? "false" : "true"
    site(node, [(.constant, around, "\(text) becomes \(other)")]) { number, edits in
      edits.wrap(node.bytes, "mutantNot(\(number), ", ")")
    }
  }

  func extremes(_ node: FunctionCallExprSyntax) {
    let names = ["min": ("mutantMin", "max"), "max": ("mutantMax", "min")]
    guard let callee = node.calledExpression.as(DeclReferenceExprSyntax.self),
      let (function, other) = names[callee.baseName.text], node.arguments.count == 2,
      let first = node.arguments.first, first.label == nil
    else { return }
    let text = node.trimmedDescription
    site(node, [(.extremes, text, other + text.dropFirst(3))]) { number, edits in
      edits.replace(callee.bytes, function)
      edits.prepend("\(number), ", at: first.start)
    }
  }

  func ends(_ node: MemberAccessExprSyntax) {
    let names = ["first": ("mutantFirst", "last"), "last": ("mutantLast", "first")]
    guard let base = node.base, let (function, other) = names[node.declName.baseName.text],
      node.declName.argumentNames == nil, !base.description.contains("?"),
      node.parent?.as(FunctionCallExprSyntax.self)?.calledExpression.id != node.id
    else { return }
    let after = "\(base.trimmedDescription).\(other)"
    site(node, [(.ends, node.trimmedDescription, after)]) { number, edits in
      edits.prepend("\(function)(\(number), ", at: node.start)
      let end = node.endPositionBeforeTrailingTrivia.utf8Offset
      edits.replace(base.endPositionBeforeTrailingTrivia.utf8Offset..<end, ")")
    }
  }

  /// Swaps neighboring arguments. If their types differ, the mutant does not compile.
  func arguments(_ node: FunctionCallExprSyntax) {
    guard !["min", "max"].contains(node.calledExpression.trimmedDescription) else { return }
    let all = Array(node.arguments)
    for (left, right) in zip(all, all.dropFirst()) {
      let (own, other) = (left.expression.trimmedDescription, right.expression.trimmedDescription)
      guard left.expression.isSimple, right.expression.isSimple, own != other else { continue }
      let labels = [left, right].map { $0.label.map { "\($0.text): " } ?? "" }
      let callee = node.calledExpression.trimmedDescription
      let before = "\(callee)(\(labels[0])\(own), \(labels[1])\(other))"
      let after = "\(callee)(\(labels[0])\(other), \(labels[1])\(own))"
      let range = left.expression.start..<right.expression.bytes.upperBound
      site(node, [(.arguments, before, after)], range: range) { number, edits in
        edits.wrap(left.expression.bytes, "mutantArgument(\(number), ", ", \(other))")
        edits.wrap(right.expression.bytes, "mutantArgument(\(number), ", ", \(own))")
      }
    }
  }
}

extension InfixOperatorExprSyntax {
  /// Whether the operator joins strings or arrays, as a literal operand shows.
  fileprivate var isOfText: Bool {
    [leftOperand.bare, rightOperand.bare].contains {
      $0.is(StringLiteralExprSyntax.self) || $0.is(ArrayExprSyntax.self)
        || $0.as(InfixOperatorExprSyntax.self)?.isOfText == true
    }
  }
}

extension ExprSyntax {
  /// Whether the expression is a name, or a chain of names, whose evaluation has no effect.
  fileprivate var isSimple: Bool {
    if let name = self.as(DeclReferenceExprSyntax.self) {
      return name.baseName.text != "self" && name.argumentNames == nil
    }
    guard let member = self.as(MemberAccessExprSyntax.self), let base = member.base else {
      return false
    }
    let name = member.declName.baseName.text
    guard name != "first", name != "last" else { return false }
    return base.isSimple || base.trimmedDescription == "self"
  }

  /// The smallest enclosing expression, declaration or statement that shows a constant's purpose.
  fileprivate var line: String? {
    var node = parent
    while let current = node {
      if current.is(CodeBlockItemSyntax.self) || current.is(MemberBlockItemSyntax.self)
        || current.is(FunctionParameterSyntax.self) || current.is(ConditionElementSyntax.self)
        || current.is(FunctionCallExprSyntax.self) || current.is(InfixOperatorExprSyntax.self)
        || current.is(ReturnStmtSyntax.self)
      {
        return current.trimmedDescription
      }
      node = current.parent
    }
    return nil
  }
}
