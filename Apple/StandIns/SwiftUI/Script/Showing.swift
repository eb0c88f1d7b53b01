// How each view of this module is shown.

extension Renderer {
  func add(text: Text) {
    let words = resolve(text)
    screen.lines.append(words)
    screen.elements.append(AccessibleElement(label: words, traits: ["text"]))
  }

  func add(image: Image) {
    // The label has to come from the view around it.
    if !image.isDecorative { screen.elements.append(AccessibleElement(traits: ["image"])) }
  }

  func showLabel(_ title: any View, icon: any View) { show(title, at: "title") }

  /// Runs a closure and returns the lines that it has added, without adding them.
  func lines(of content: () -> Void) -> [String] {
    let outer = screen.lines
    screen.lines = []
    content()
    defer { screen.lines = outer }
    return screen.lines
  }

  func inOneLine(_ content: () -> Void) {
    let words = lines(of: content).filter { !$0.isEmpty }
    if !words.isEmpty { screen.lines.append(words.joined(separator: "  ")) }
  }

  func showInOneLine(_ content: any View) { inOneLine { show(content, at: 0) } }

  func showButton(
    _ label: any View, role: ButtonRole?, _ action: @escaping @MainActor () -> Void
  ) {
    let isEnabled = Renderer.environment.isEnabled
    let outer = screen.elements
    screen.elements = []
    let words = lines { show(label, at: 0) }
    let labels = screen.elements.map(\.label).filter { !$0.isEmpty }
    let name = labels.joined(separator: ", ")
    screen.elements =
      outer + [
        AccessibleElement(label: name, traits: isEnabled ? ["button"] : ["button", "disabled"])
      ]
    let shown = words.isEmpty ? name : words.joined(separator: " ")
    screen.lines.append(isEnabled ? "[\(shown)]" : "(\(shown))")
    screen.buttons.append(
      Screen.Button(
        name: shown, isEnabled: isEnabled, isDestructive: role == .destructive, action: action))
  }

  func showField(_ label: any View, text: Binding<String>, prompt: Text?) {
    let outer = screen.elements
    let name = lines { show(label, at: 0) }.joined(separator: " ")
    let words = text.wrappedValue
    screen.lines.append("_\(words.isEmpty ? prompt.map(resolve) ?? name : words)_")
    screen.elements =
      outer + [AccessibleElement(label: name, value: words, traits: ["field"])]
    screen.fields.append(Screen.Field(name: name, text: text))
  }

  /// Shows a switch by its first line; the others explain it.
  func showToggle(_ label: any View, isOn: Binding<Bool>) {
    let isEnabled = Renderer.environment.isEnabled
    let outer = screen.elements
    let words = lines { show(label, at: 0) }
    let name = words.first ?? ""
    let state = isOn.wrappedValue ? "on" : "off"
    screen.lines.append(isEnabled ? "\(name) <\(state)>" : "\(name) (\(state))")
    screen.lines += words.dropFirst()
    screen.elements =
      outer + [
        AccessibleElement(
          label: words.joined(separator: ", "), value: state,
          traits: isEnabled ? ["switch"] : ["switch", "disabled"])
      ]
    screen.switches.append(Screen.Switch(name: name, isEnabled: isEnabled, isOn: isOn))
  }

  func showProgress(_ label: (any View)?, fraction: Double?) {
    let outer = screen.elements
    let name = label.map { label in lines { show(label, at: 0) }.joined(separator: " ") } ?? ""
    let percent = fraction.map { "\(Int(($0 * 100).rounded())) %" }
    screen.lines.append([percent ?? "…", name].filter { !$0.isEmpty }.joined(separator: " "))
    screen.elements =
      outer + [AccessibleElement(label: name, value: percent, traits: ["progress"])]
  }

  func showDialog(
    _ title: Text?, _ isPresented: Binding<Bool>, _ actions: any View, _ message: any View
  ) {
    if let title { add(text: title) }
    show(message, at: "message")
    let first = screen.buttons.count
    show(actions, at: "actions")
    for index in screen.buttons.indices.dropFirst(first) {
      let button = screen.buttons[index]
      screen.buttons[index] = Screen.Button(
        name: button.name, isEnabled: button.isEnabled, isDestructive: button.isDestructive
      ) {
        button.action()
        isPresented.wrappedValue = false
      }
    }
  }

  /// Adds the buttons of a menu, which is not open.
  func showMenu(_ items: any View) {
    let elements = screen.elements
    _ = lines { show(items, at: "menu") }
    screen.elements = elements
  }

  /// Makes one element of all elements of some content.
  func combine(_ content: () -> Void) {
    describe { all in
      let parts = all.filter { !$0.label.isEmpty }
      var one = AccessibleElement(label: parts.map(\.label).joined(separator: ", "))
      let values = parts.compactMap(\.value).filter { !$0.isEmpty }
      if !values.isEmpty { one.value = values.joined(separator: ", ") }
      one.traits = parts.reduce(into: []) { $0.formUnion($1.traits) }
      all = all.isEmpty ? [] : [one]
    } of: {
      content()
    }
  }

  /// Replaces the elements of some content by what a closure adds.
  func describe(
    _ change: (inout [AccessibleElement]) -> Void, of content: () -> Void
  ) {
    let outer = screen.elements
    screen.elements = []
    content()
    var inner = screen.elements
    change(&inner)
    screen.elements = outer + inner
  }

  /// Changes the only element of some content, or adds one.
  func change(_ content: () -> Void, _ change: (inout AccessibleElement) -> Void) {
    let (line, button) = (screen.lines.count, screen.buttons.count)
    describe { all in
      if all.isEmpty { all.append(AccessibleElement()) }
      for index in all.indices { change(&all[index]) }
      name(button, at: line, all)
    } of: {
      content()
    }
  }

  /// Names a button without words after its label.
  private func name(_ button: Int, at line: Int, _ elements: [AccessibleElement]) {
    guard screen.buttons.indices.contains(button), screen.buttons[button].name.isEmpty,
      screen.lines.indices.contains(line), let label = elements.first?.label, !label.isEmpty
    else { return }
    screen.buttons[button].name = label
    screen.lines[line] = screen.lines[line].prefix(1) + label + screen.lines[line].suffix(1)
  }
}
