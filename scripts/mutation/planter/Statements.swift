import SwiftSyntax

// Mutants of conditions, statements and results.
extension Planter {
  /// Plants the values true and false for `if`, false for `while`, and true for `guard`.
  func condition(_ node: ConditionElementSyntax) {
    guard let owner = node.parent?.parent else { return }
    switch node.condition {
    case .expression(let value):
      guard !value.is(BooleanLiteralExprSyntax.self) else { return }
      forced.insert(value.bare.id)
      if owner.is(GuardStmtSyntax.self) {
        wrap(value, "mutantTrue", .guardSkipped, after: "true")
      } else {
        if owner.is(IfExprSyntax.self) { wrap(value, "mutantTrue", .condition, after: "true") }
        wrap(value, "mutantFalse", .condition, after: "false")
      }
    case .optionalBinding(let binding): optionalBinding(binding, in: owner)
    case .matchingPattern(let match):
      guard owner.is(IfExprSyntax.self) else { return }
      let before = match.trimmedDescription
      site(match, [(.condition, before, "false")]) { number, edits in
        let end = match.endPositionBeforeTrailingTrivia.utf8Offset
        edits.wrap(match.start..<end, "", ", mutantRuns(\(number))")
      }
    case .availability: return
    @unknown default: return
    }
  }

  private func optionalBinding(_ binding: OptionalBindingConditionSyntax, in owner: Syntax) {
    guard !owner.is(GuardStmtSyntax.self) else { return }
    if let value = binding.initializer?.value {
      wrap(value, "mutantNil", .condition, after: "nil", before: binding.trimmedDescription)
    } else if binding.typeAnnotation == nil,
      let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text, name != "self"
    {
      site(binding, [(.condition, binding.trimmedDescription, "nil")]) { number, edits in
        edits.wrap(binding.bytes, "", " = mutantNil(\(number), \(name))")
      }
    }
  }

  /// Plants the values true and false for `where`.
  func narrowing(_ node: WhereClauseSyntax) {
    forced.insert(node.condition.bare.id)
    wrap(node.condition, "mutantTrue", .guardSkipped, after: "true")
    wrap(node.condition, "mutantFalse", .condition, after: "false")
  }

  /// Removes a call or an assignment.
  func statement(_ node: CodeBlockItemSyntax) {
    guard case .expr(let expression) = node.item, let kind = kind(of: expression.unmarked),
      !node.isValue(kind), !node.isWholeBranch
    else { return }
    let text = node.item.trimmedDescription
    site(node.item, [(.removed, text, "nothing")]) { number, edits in
      edits.wrap(node.item.bytes, "if mutantRuns(\(number)) { ", " }")
    }
  }

  enum Statement {
    case call
    case assignment
  }

  private func kind(of expression: ExprSyntax) -> Statement? {
    if let call = expression.as(FunctionCallExprSyntax.self) {
      let callee = call.calledExpression.trimmedDescription
      return call.isProof || callee.hasSuffix(".init") ? nil : .call
    }
    guard let infix = expression.as(InfixOperatorExprSyntax.self) else { return nil }
    if infix.operator.is(AssignmentExprSyntax.self) {
      let place = infix.leftOperand.trimmedDescription
      let isProperty =
        place.hasPrefix("(") || !place.replacing("self.", with: "").contains { $0 == "." }
      return isProperty && (infix.isInInitializer || infix.initializes(place)) ? nil : .assignment
    }
    let text = infix.operator.trimmedDescription
    return text.hasSuffix("=") && !["==", "!=", "<=", ">=", "===", "!==", "~="].contains(text)
      ? .assignment : nil
  }

  /// Changes the result of a body that consists of a single expression.
  func implicitResult(_ items: CodeBlockItemListSyntax, _ type: TypeSyntax) {
    guard items.count == 1, case .expr(let value)? = items.first?.item else { return }
    result(value, type)
  }

  /// Changes a result: an optional becomes `nil`, an array empty, and a Boolean its opposite.
  func result(_ value: ExprSyntax, _ type: TypeSyntax) {
    let bare = value.bare
    guard !bare.is(IfExprSyntax.self), !bare.is(SwitchExprSyntax.self) else { return }
    if type.is(OptionalTypeSyntax.self) {
      guard !bare.is(NilLiteralExprSyntax.self) else { return }
      wrap(value, "mutantNil", .result, after: "nil")
    } else if type.is(ArrayTypeSyntax.self) {
      guard bare.as(ArrayExprSyntax.self)?.elements.isEmpty != true else { return }
      wrap(value, "mutantEmpty", .result, after: "[]")
    } else if type.trimmedDescription == "Bool", !bare.isMutatedTruth {
      wrap(value, "mutantNot", .negation, after: "!(\(value.trimmedDescription))")
    }
  }

  /// Wraps an expression that has one mutant in a call.
  func wrap(
    _ value: ExprSyntax, _ function: String, _ kind: Mutant.Kind, after: String,
    before: String? = nil
  ) {
    site(value, [(kind, before ?? value.trimmedDescription, after)]) { number, edits in
      edits.wrap(value.bytes, "\(function)(\(number), ", ")")
    }
  }
}

extension SyntaxProtocol {
  var start: Int { positionAfterSkippingLeadingTrivia.utf8Offset }
  /// The byte range of the node without the surrounding trivia.
  var bytes: Range<Int> { start..<endPositionBeforeTrailingTrivia.utf8Offset }
}

extension ExprSyntax {
  /// The expression without parentheses.
  var bare: ExprSyntax {
    guard let tuple = self.as(TupleExprSyntax.self), tuple.elements.count == 1,
      let only = tuple.elements.first, only.label == nil
    else { return self }
    return only.expression.bare
  }

  /// The expression without `try` and `await`.
  var unmarked: ExprSyntax {
    if let marked = self.as(TryExprSyntax.self) { return marked.expression.unmarked }
    if let marked = self.as(AwaitExprSyntax.self) { return marked.expression.unmarked }
    return self
  }

  /// Whether mutants inside the expression already change its value.
  var isMutatedTruth: Bool {
    self.is(BooleanLiteralExprSyntax.self) || self.is(InfixOperatorExprSyntax.self)
      || self.is(PrefixOperatorExprSyntax.self) || self.is(TernaryExprSyntax.self)
  }
}

extension FunctionCallExprSyntax {
  /// Whether the call only states an assumption, such as a precondition.
  var isProof: Bool {
    [
      "precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError",
    ].contains(calledExpression.trimmedDescription)
  }
}
