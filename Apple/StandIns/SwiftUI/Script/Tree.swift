// The tree of views: which bodies are evaluated, and where state lives.

extension Renderer {
  func show(_ view: any View, at key: AnyHashable) { open(view, key) }

  func show(any value: Any, at key: AnyHashable) {
    guard let view = value as? any View else {
      return misuse.append("\(type(of: value)) is no view")
    }
    open(view, key)
  }

  private func open<V: View>(_ view: V, _ key: AnyHashable) {
    let (parent, isFresh) = (node, isFresh)
    let place = NodeKey(type: ObjectIdentifier(V.self), key: key)
    let child = parent.children[place] ?? Node()
    parent.children[place] = child
    (node, child.isShown) = (child, true)
    for each in child.children.values { each.isShown = false }
    if let primitive = view as? any Primitive {
      primitive.show(in: self)
    } else {
      evaluate(view)
      if let body = child.body { open(body, "body") }
    }
    // A view that is no longer shown loses its state.
    child.children = child.children.filter { $0.value.isShown }
    (node, self.isFresh) = (parent, isFresh)
  }

  /// Evaluates the body of a view if its inputs have changed.
  private func evaluate<V: View>(_ view: V) {
    let node = node
    let properties = Mirror(reflecting: view).children.map(\.value)
    let states = properties.compactMap { $0 as? any StateHolding }
    for (index, state) in states.enumerated() {
      if index < node.states.count {
        state.cell.location = node.states[index]
      } else {
        node.states.append(state.cell.location)
      }
    }
    let environment = properties.compactMap { ($0 as? any EnvironmentReading)?.current }
    let isCurrent =
      node.body != nil && !node.change.isPending && !node.states.contains { $0.isWritten }
      && areSame(environment, node.environment)
      && (!isFresh || node.view.map { isSame($0, view) } == true)
    isFresh = !isCurrent
    guard !isCurrent else { return }
    screen.evaluations[String(describing: V.self), default: 0] += 1
    for state in node.states { state.isWritten = false }
    let change = node.change
    change.isPending = false
    node.body = withObservationTracking {
      view.body as any View
    } onChange: {
      change.isPending = true
    }
    (node.view, node.environment) = (view, environment)
  }

  private func areSame(_ left: [Any], _ right: [Any]) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
  }

  /// Returns whether two values of a view's inputs are equal, so that its body need not be evaluated.
  ///
  /// Closures and bindings are never equal.
  private func isSame(_ left: Any, _ right: Any) -> Bool {
    guard type(of: left) == type(of: right) else { return false }
    if let left = left as? any Equatable { return isEqual(left, right) }
    if left is any StateHolding || left is any EnvironmentReading { return true }
    let (first, second) = (Mirror(reflecting: left), Mirror(reflecting: right))
    switch first.displayStyle {
    case .class: return (left as AnyObject) === (right as AnyObject)
    case .struct, .tuple, .optional, .enum, .collection:
      guard first.children.count == second.children.count, !(left is any DynamicProperty) else {
        return false
      }
      if first.displayStyle == .enum, "\(left)" != "\(right)" { return false }
      return zip(first.children, second.children).allSatisfy {
        $0.label == $1.label && isSame($0.value, $1.value)
      }
    case _: return false
    }
  }

  private func isEqual<Value: Equatable>(_ left: Value, _ right: Any) -> Bool {
    (right as? Value) == left
  }

  /// Shows views in another environment.
  func with(_ change: (inout EnvironmentValues) -> Void, _ content: () -> Void) {
    let outer = Renderer.environment
    change(&Renderer.environment)
    content()
    Renderer.environment = outer
  }

  /// Notes an action for the first pass in which a view is shown.
  func onAppear(_ action: @escaping () -> Void) {
    if !node.hasAppeared { appearing.append(action) }
    node.hasAppeared = true
  }

  /// Begins the task of a view, and begins it anew for each other value.
  func run<Value: Equatable>(
    _ action: @escaping @Sendable () async -> Void, for value: Value, _ priority: TaskPriority
  ) {
    if let last = node.taskValue, isEqual(value, last) { return }
    node.task?.cancel()
    let task = Task(priority: priority) { await action() }
    (node.task, node.taskValue) = (task, value)
    screen.tasks.append(task)
  }

  func note(ticks: some Sequence<Date>) { screen.ticks += ticks.prefix(100) }
}
