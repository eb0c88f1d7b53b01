import SwiftSyntax

// What is around a piece of code.
extension CodeBlockItemSyntax {
  /// Whether it is, or may be, the value of what is around it.
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

  /// Whether a condition that is false leaves out just as much.
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
  /// Whether an `if` or a `switch` is an expression whose value is used.
  var isUsed: Bool {
    guard let statement = parent?.as(ExpressionStmtSyntax.self) else {
      // The `else if` of another one.
      if let outer = parent?.as(IfExprSyntax.self) { return ExprSyntax(outer).isUsed }
      return true
    }
    guard let item = statement.parent?.as(CodeBlockItemSyntax.self) else { return true }
    return item.isValue(.call)
  }
}

extension VariableDeclSyntax {
  /// Whether it is inside of a body.
  var isLocal: Bool {
    guard let item = parent?.as(CodeBlockItemSyntax.self) else { return false }
    return item.parent?.parent?.is(SourceFileSyntax.self) != true
  }
}

extension SyntaxProtocol {
  /// Whether it stands in an initializer, not in a closure there.
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
  /// Whether its left side is declared around it without a value.
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
  /// The type that the function around it returns; `nil` in closures.
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
