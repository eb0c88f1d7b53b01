// A screen, as a test uses it.

extension Screen {
  /// Shows the view again: bodies whose inputs have changed are evaluated anew.
  public func render() {
    // What appears may change the view, which is then shown once more.
    for _ in 0..<10 {
      let appearing = pass()
      for action in appearing { action() }
      if appearing.isEmpty { return }
    }
    misuse.append("each pass has made a new view appear")
  }

  private func pass() -> [() -> Void] {
    (lines, buttons, fields, switches, elements, ticks) = ([], [], [], [], [], [])
    (submit, refreshAction) = (nil, nil)
    let renderer = Renderer(self, node)
    let outer = Renderer.environment
    Renderer.environment = environment
    defer { Renderer.environment = outer }
    renderer.show(root, at: 0)
    misuse += renderer.misuse
    return renderer.appearing
  }

  /// Changes the root's environment, as the system does.
  public func setLanguage(_ language: String) {
    environment.locale = Locale(identifier: language)
    render()
  }

  /// Presses the button with a name, and shows the screen again.
  ///
  /// A button that is not shown or is disabled is recorded as misuse.
  public func press(_ name: String) {
    guard let button = buttons.first(where: { $0.name == name }), button.isEnabled else {
      return misuse.append("there is no enabled button “\(name)” in \(lines)")
    }
    button.action()
    render()
  }

  /// Turns the switch with a name on or off, and shows the screen again.
  ///
  /// A switch that is not shown or is disabled is recorded as misuse.
  public func turn(_ name: String) {
    guard let one = switches.first(where: { $0.name == name }), one.isEnabled else {
      return misuse.append("there is no enabled switch “\(name)” in \(lines)")
    }
    one.isOn.wrappedValue.toggle()
    render()
  }

  /// Replaces the text of the only field, and shows the screen again.
  public func type(_ text: String) {
    guard let field = fields.first else { return misuse.append("there is no field") }
    field.text.wrappedValue = text
    render()
  }

  /// Presses the return key in the field.
  public func submitField() {
    submit?()
    render()
  }

  /// Pulls the list down until the refresh has ended. Returns `false` if nothing can be refreshed.
  public func pull() async -> Bool {
    guard let action = refreshAction else { return false }
    await action()
    render()
    return true
  }

  /// Starts to count the evaluated bodies again.
  public func resetEvaluations() { evaluations = [:] }

  /// The places of elements for which a screen reader has no words.
  public var unlabelled: [Int] { elements.indices.filter { elements[$0].label.isEmpty } }
}
