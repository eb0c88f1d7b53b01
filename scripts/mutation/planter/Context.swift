import SwiftSyntax

// The context of a syntax node.
extension CodeBlockItemSyntax {
  /// Returns whether the item is, or may be, the value of the enclosing construct.
  func isValue(_ kind: Planter.Statement) -> Bool {
    guard let list = parent?.as(CodeBlockItemListSyntax.self), list.count == 1,
      let owner = list.parent
    else { return false }
    if owner.is(ClosureExprSyntax.self) { return kind == .call }
    if let accessors = owner.as(AccessorBlockSyntax.self) { return accessors.isGetter }
    if let branch = owner.as(SwitchCaseSyntax.self) {
      return branch.parent?.parent?.as(SwitchExprSyntax.self).map { ExprSyntax($0).isUsed } ?? false
    }
    guard let block = owner.as(CodeBlockSyntax.self), let holder = block.parent else {
      return false
    }
    if let function = holder.as(FunctionDeclSyntax.self) {
      return function.signature.returnClause != nil
    }
    if let accessor = holder.as(AccessorDeclSyntax.self) {
      return accessor.accessorSpecifier.text == "get"
    }
    return holder.as(IfExprSyntax.self).map { ExprSyntax($0).isUsed } ?? false
  }

  /// Whether a false condition of the enclosing `if` has the same effect as removing the item.
  var isWholeBranch: Bool {
    guard let list = parent?.as(CodeBlockItemListSyntax.self), list.count == 1,
      let branch = list.parent?.parent?.as(IfExprSyntax.self)
    else { return false }
    return branch.elseBody == nil
  }
}

extension AccessorBlockSyntax {
  var isGetter: Bool {
    if case .getter = accessors { true } else { false }
  }
}

extension ExprSyntax {
  /// Whether the `if` or `switch` is an expression whose value is used.
  var isUsed: Bool {
    guard let statement = parent?.as(ExpressionStmtSyntax.self) else {
      // This is the `else if` of another `if`.
      if let outer = parent?.as(IfExprSyntax.self) { return ExprSyntax(outer).isUsed }
      return true
    }
    guard let item = statement.parent?.as(CodeBlockItemSyntax.self) else { return true }
    return item.isValue(.call)
  }
}

extension VariableDeclSyntax {
  /// Whether the variable is declared inside a body.
  var isLocal: Bool {
    guard let item = parent?.as(CodeBlockItemSyntax.self) else { return false }
    return item.parent?.parent?.is(SourceFileSyntax.self) != true
  }
}

extension SyntaxProtocol {
  /// Whether the node is in an initializer, but not in a closure there.
  var isInInitializer: Bool {
    var node = parent
    while let current = node {
      if current.is(InitializerDeclSyntax.self) { return true }
      if current.is(ClosureExprSyntax.self) || current.is(FunctionDeclSyntax.self) { return false }
      node = current.parent
    }
    return false
  }
}

extension InfixOperatorExprSyntax {
  /// Returns whether an enclosing scope declares the left side without a value.
  func initializes(_ place: String) -> Bool {
    let names = place.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    var node = parent
    while let current = node {
      for item in current.as(CodeBlockItemListSyntax.self) ?? [] {
        guard case .decl(let declaration) = item.item,
          let variable = declaration.as(VariableDeclSyntax.self)
        else { continue }
        for binding in variable.bindings
        where binding.initializer == nil && binding.accessorBlock == nil {
          if names.contains(Substring(binding.pattern.trimmedDescription)) { return true }
        }
      }
      node = current.parent
    }
    return false
  }
}

extension ReturnStmtSyntax {
  /// The result type of the enclosing function, or `nil` in a closure.
  var resultType: TypeSyntax? {
    var node = parent
    while let current = node {
      if current.is(ClosureExprSyntax.self) || current.is(InitializerDeclSyntax.self) { return nil }
      if let function = current.as(FunctionDeclSyntax.self) {
        return function.signature.returnClause?.type
      }
      if let accessed = current.as(SubscriptDeclSyntax.self) { return accessed.returnClause.type }
      if let binding = current.as(PatternBindingSyntax.self), binding.accessorBlock != nil {
        return binding.typeAnnotation?.type
      }
      node = current.parent
    }
    return nil
  }
}
