// The accessibility modifiers of views.

public struct AccessibilityChildBehavior: Hashable, Sendable {
  let name: String
  public static let ignore = AccessibilityChildBehavior(name: "ignore")
  public static let contain = AccessibilityChildBehavior(name: "contain")
  public static let combine = AccessibilityChildBehavior(name: "combine")
}

public struct AccessibilityTraits: SetAlgebra, Sendable {
  var names: Set<String> = []
  public init() {}
  init(_ name: String) { names = [name] }
  public static let isButton = AccessibilityTraits("button")
  public static let isHeader = AccessibilityTraits("header")
  public static let isSelected = AccessibilityTraits("selected")
  public static let isStaticText = AccessibilityTraits("text")
  public static let isImage = AccessibilityTraits("image")
  public static let updatesFrequently = AccessibilityTraits("updates frequently")

  public typealias Element = AccessibilityTraits
  public typealias ArrayLiteralElement = AccessibilityTraits
  public func contains(_ member: AccessibilityTraits) -> Bool {
    member.names.isSubset(of: names)
  }
  @discardableResult public mutating func insert(
    _ newMember: AccessibilityTraits
  ) -> (inserted: Bool, memberAfterInsert: AccessibilityTraits) {
    let isNew = !contains(newMember)
    names.formUnion(newMember.names)
    return (isNew, newMember)
  }
  @discardableResult public mutating func remove(
    _ member: AccessibilityTraits
  ) -> AccessibilityTraits? {
    guard contains(member) else { return nil }
    names.subtract(member.names)
    return member
  }
  @discardableResult public mutating func update(
    with newMember: AccessibilityTraits
  ) -> AccessibilityTraits? {
    insert(newMember).inserted ? nil : newMember
  }
  public func union(_ other: AccessibilityTraits) -> AccessibilityTraits {
    var all = self
    all.formUnion(other)
    return all
  }
  public func intersection(_ other: AccessibilityTraits) -> AccessibilityTraits {
    var all = self
    all.formIntersection(other)
    return all
  }
  public func symmetricDifference(_ other: AccessibilityTraits) -> AccessibilityTraits {
    var all = self
    all.formSymmetricDifference(other)
    return all
  }
  public mutating func formUnion(_ other: AccessibilityTraits) { names.formUnion(other.names) }
  public mutating func formIntersection(_ other: AccessibilityTraits) {
    names.formIntersection(other.names)
  }
  public mutating func formSymmetricDifference(_ other: AccessibilityTraits) {
    names.formSymmetricDifference(other.names)
  }
}

public struct AccessibilityAttachmentModifier: ViewModifier {
  let apply: @MainActor (Renderer, any View) -> Void
  public func body(content: Content) -> some View {
    Changed(content) { renderer, content in apply(renderer, content) }
  }
}

extension View {
  nonisolated public func accessibilityElement(
    children: AccessibilityChildBehavior = .ignore
  ) -> some View {
    Changed(self) { renderer, content in
      switch children {
      case .combine: renderer.combine { renderer.show(content, at: 0) }
      case .ignore:
        renderer.describe {
          $0.append(.init())
        } of: {
          renderer.show(content, at: 0)
        }
      case _: renderer.show(content, at: 0)
      }
    }
  }
  nonisolated public func accessibilityLabel(
    _ label: Text
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    described { $0.label = $1.resolve(label) }
  }
  nonisolated public func accessibilityValue(
    _ valueDescription: Text
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    described { $0.value = $1.resolve(valueDescription) }
  }
  nonisolated public func accessibilityHint(
    _ hint: Text
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    described { $0.hint = $1.resolve(hint) }
  }
  nonisolated public func accessibilityAddTraits(
    _ traits: AccessibilityTraits
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    described { element, _ in element.traits.formUnion(traits.names) }
  }
  nonisolated public func accessibilityHidden(
    _ hidden: Bool
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    modifier(
      AccessibilityAttachmentModifier { renderer, content in
        guard hidden else { return renderer.show(content, at: 0) }
        renderer.describe { _ in
        } of: {
          renderer.show(content, at: 0)
        }
      })
  }

  private nonisolated func described(
    _ change: @escaping @MainActor (inout AccessibleElement, Renderer) -> Void
  ) -> ModifiedContent<Self, AccessibilityAttachmentModifier> {
    modifier(
      AccessibilityAttachmentModifier { renderer, content in
        renderer.change({ renderer.show(content, at: 0) }) { change(&$0, renderer) }
      })
  }
}
