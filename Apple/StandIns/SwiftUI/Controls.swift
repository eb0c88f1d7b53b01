// Buttons, fields, progress, and dialogs.

public struct ButtonRole: Equatable, Sendable {
  let name: String
  public static let destructive = ButtonRole(name: "destructive")
  public static let cancel = ButtonRole(name: "cancel")
}

public struct Button<Label> where Label: View {
  let role: ButtonRole?
  let action: @MainActor () -> Void
  let label: Label

  @preconcurrency nonisolated public init(
    action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label
  ) {
    self.init(role: nil, action: action, label: label)
  }
  @preconcurrency nonisolated public init(
    role: ButtonRole?, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label
  ) {
    (self.role, self.action, self.label) = (role, action, label())
  }
  @MainActor func show(in renderer: Renderer) { renderer.showButton(label, role: role, action) }
}

extension Button: View, Primitive {
  public typealias Body = Never
}

extension Button where Label == Text {
  @preconcurrency nonisolated public init(
    _ titleKey: LocalizedStringKey, action: @escaping @MainActor () -> Void
  ) {
    self.init(action: action) { Text(titleKey) }
  }
}

public struct TextField<Label> where Label: View {
  let label: Label
  let text: Binding<String>
  let prompt: Text?

  nonisolated public init(
    text: Binding<String>, prompt: Text? = nil, axis: Axis, @ViewBuilder label: () -> Label
  ) {
    (self.label, self.text, self.prompt) = (label(), text, prompt)
  }
  @MainActor func show(in renderer: Renderer) {
    renderer.showField(label, text: text, prompt: prompt)
  }
}

extension TextField: View, Primitive {
  public typealias Body = Never
}

public struct Toggle<Label> where Label: View {
  let label: Label
  let isOn: Binding<Bool>

  nonisolated public init(isOn: Binding<Bool>, @ViewBuilder label: () -> Label) {
    (self.label, self.isOn) = (label(), isOn)
  }
  @MainActor func show(in renderer: Renderer) { renderer.showToggle(label, isOn: isOn) }
}

extension Toggle: View, Primitive {
  public typealias Body = Never
}

public struct ProgressView<Label, CurrentValueLabel>
where Label: View, CurrentValueLabel: View {
  let label: Label?
  let fraction: Double?
  @MainActor func show(in renderer: Renderer) { renderer.showProgress(label, fraction: fraction) }
}

extension ProgressView: View, Primitive {
  public typealias Body = Never
}

extension ProgressView where CurrentValueLabel == EmptyView {
  nonisolated public init() where Label == EmptyView { (label, fraction) = (nil, nil) }
  nonisolated public init(@ViewBuilder label: () -> Label) {
    (self.label, fraction) = (label(), nil)
  }
  nonisolated public init<V>(
    value: V?, total: V = 1.0, @ViewBuilder label: () -> Label
  ) where V: BinaryFloatingPoint {
    self.label = label()
    fraction = value.map { Double($0) / Double(total) }
  }
}

public struct LabeledContent<Label, Content> {
  let label: Label
  let content: Content
}

extension LabeledContent: View, Primitive where Label: View, Content: View {
  public typealias Body = Never
  nonisolated public init(
    @ViewBuilder content: () -> Content, @ViewBuilder label: () -> Label
  ) {
    (self.label, self.content) = (label(), content())
  }
  func show(in renderer: Renderer) {
    renderer.combine {
      renderer.inOneLine {
        renderer.show(label, at: 0)
        renderer.show(content, at: 1)
      }
    }
  }
}

@MainActor @preconcurrency public protocol PrimitiveButtonStyle {}
@MainActor @preconcurrency public protocol LabelStyle {}
@MainActor @preconcurrency public protocol TextFieldStyle {}

public struct BorderedButtonStyle: PrimitiveButtonStyle { nonisolated public init() {} }
public struct BorderedProminentButtonStyle: PrimitiveButtonStyle { nonisolated public init() {} }
public struct BorderlessButtonStyle: PrimitiveButtonStyle { nonisolated public init() {} }
public struct PlainButtonStyle: PrimitiveButtonStyle { nonisolated public init() {} }

extension PrimitiveButtonStyle where Self == BorderedButtonStyle {
  public static var bordered: BorderedButtonStyle { BorderedButtonStyle() }
}
extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
  public static var borderedProminent: BorderedProminentButtonStyle {
    BorderedProminentButtonStyle()
  }
}
extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
  @available(tvOS 17.0, *)
  public static var borderless: BorderlessButtonStyle { BorderlessButtonStyle() }
}
extension PrimitiveButtonStyle where Self == PlainButtonStyle {
  public static var plain: PlainButtonStyle { PlainButtonStyle() }
}

public struct IconOnlyLabelStyle: LabelStyle { nonisolated public init() {} }
public struct TitleAndIconLabelStyle: LabelStyle { nonisolated public init() {} }

extension LabelStyle where Self == IconOnlyLabelStyle {
  public static var iconOnly: IconOnlyLabelStyle { IconOnlyLabelStyle() }
}
extension LabelStyle where Self == TitleAndIconLabelStyle {
  public static var titleAndIcon: TitleAndIconLabelStyle { TitleAndIconLabelStyle() }
}

public struct SubmitLabel: Sendable {
  let name: String
  public static var send: SubmitLabel { SubmitLabel(name: "send") }
  public static var done: SubmitLabel { SubmitLabel(name: "done") }
}

public struct SubmitTriggers: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  public static let text = SubmitTriggers(rawValue: 1)
}

extension View {
  nonisolated public func buttonStyle<S>(_ style: S) -> some View where S: PrimitiveButtonStyle {
    self
  }
  nonisolated public func labelStyle<S>(_ style: S) -> some View where S: LabelStyle { self }
  nonisolated public func disabled(_ disabled: Bool) -> some View {
    Changed(self) { renderer, content in
      renderer.with({ $0.isEnabled = $0.isEnabled && !disabled }) { renderer.show(content, at: 0) }
    }
  }
  nonisolated public func submitLabel(_ submitLabel: SubmitLabel) -> some View { self }
  nonisolated public func onSubmit(
    of triggers: SubmitTriggers = .text, _ action: @escaping () -> Void
  ) -> some View {
    // SwiftUI calls it on the main actor, to which the view belongs.
    nonisolated(unsafe) let action = action
    return Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      renderer.screen.submit = { action() }
    }
  }
  nonisolated public func contextMenu<MenuItems>(
    @ViewBuilder menuItems: () -> MenuItems
  ) -> some View where MenuItems: View {
    let items = menuItems()
    return Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      renderer.showMenu(items)
    }
  }
  nonisolated public func confirmationDialog<A, M>(
    _ title: Text, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic,
    @ViewBuilder actions: () -> A, @ViewBuilder message: () -> M
  ) -> some View where A: View, M: View {
    let (actions, message) = (actions(), message())
    return Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      guard isPresented.wrappedValue else { return }
      renderer.showDialog(
        titleVisibility == .visible ? title : nil, isPresented, actions, message)
    }
  }
  nonisolated public func confirmationDialog<A>(
    _ title: Text, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic,
    @ViewBuilder actions: () -> A
  ) -> some View where A: View {
    confirmationDialog(
      title, isPresented: isPresented, titleVisibility: titleVisibility, actions: actions
    ) { EmptyView() }
  }
}
