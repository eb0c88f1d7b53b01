// A stand-in for Apple's module SwiftUI. On Linux it shows a view as lines of text, which a test
// reads; see Script. For Apple's platforms only its declarations are compiled.
@_exported public import Foundation
@_exported public import Observation

/// A part of a screen.
@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
  public var body: Never { preconditionFailure("there is no view of this type") }
}

/// A view of this module, which shows itself.
@MainActor protocol Primitive: View {
  func show(in renderer: Renderer)
}

extension Primitive {
  public var body: Never { preconditionFailure("a view of this module has no body") }
}

@resultBuilder public struct ViewBuilder {
  public static func buildExpression<Content>(_ content: Content) -> Content
  where Content: View { content }
  public static func buildBlock() -> EmptyView { EmptyView() }
  public static func buildBlock<Content>(_ content: Content) -> Content
  where Content: View { content }
  @_disfavoredOverload public static func buildBlock<each Content>(
    _ content: repeat each Content
  ) -> TupleView<(repeat each Content)> where repeat each Content: View {
    TupleView((repeat each content))
  }
  public static func buildIf<Content>(_ content: Content?) -> Content?
  where Content: View { content }
  public static func buildEither<TrueContent, FalseContent>(
    first: TrueContent
  ) -> _ConditionalContent<TrueContent, FalseContent>
  where TrueContent: View, FalseContent: View { _ConditionalContent(.first(first)) }
  public static func buildEither<TrueContent, FalseContent>(
    second: FalseContent
  ) -> _ConditionalContent<TrueContent, FalseContent>
  where TrueContent: View, FalseContent: View { _ConditionalContent(.second(second)) }
  public static func buildLimitedAvailability<Content>(_ content: Content) -> AnyView
  where Content: View { AnyView(content) }
}

public struct EmptyView {
  nonisolated public init() {}
  @MainActor func show(in renderer: Renderer) {}
}

extension EmptyView: View, Primitive {
  public typealias Body = Never
}

public struct TupleView<T> {
  public var value: T
  nonisolated public init(_ value: T) { self.value = value }

  @MainActor func show(in renderer: Renderer) {
    // A tuple of one element is that element.
    let parts = Mirror(reflecting: value).children
    guard !(value is any View) else { return renderer.show(any: value, at: 0) }
    for (index, part) in parts.enumerated() { renderer.show(any: part.value, at: index) }
  }
}

extension TupleView: View, Primitive {
  public typealias Body = Never
}

public struct _ConditionalContent<TrueContent, FalseContent> {
  enum Storage {
    case first(TrueContent), second(FalseContent)
  }
  let storage: Storage
  nonisolated init(_ storage: Storage) { self.storage = storage }
}

extension _ConditionalContent: View, Primitive where TrueContent: View, FalseContent: View {
  public typealias Body = Never

  func show(in renderer: Renderer) {
    switch storage {
    case .first(let view): renderer.show(view, at: true)
    case .second(let view): renderer.show(view, at: false)
    }
  }
}

extension Optional: View where Wrapped: View {
  public typealias Body = Never
}

extension Optional: Primitive where Wrapped: View {
  func show(in renderer: Renderer) {
    if let self { renderer.show(self, at: 0) }
  }
}

public struct AnyView {
  let view: any View
  nonisolated public init<V>(_ view: V) where V: View { self.view = view }
  @MainActor func show(in renderer: Renderer) { renderer.show(view, at: 0) }
}

extension AnyView: View, Primitive {
  public typealias Body = Never
}

public struct Group<Content> {
  let content: Content
}

extension Group: View, Primitive where Content: View {
  public typealias Body = Never
  nonisolated public init(@ViewBuilder content: () -> Content) { self.content = content() }
  func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

public struct ForEach<Data, ID, Content> where Data: RandomAccessCollection, ID: Hashable {
  public var data: Data
  public var content: (Data.Element) -> Content
  let id: (Data.Element) -> ID
}

extension ForEach: View, Primitive where Content: View {
  public typealias Body = Never

  func show(in renderer: Renderer) {
    var known: Set<ID> = []
    for element in data {
      let id = id(element)
      if !known.insert(id).inserted { renderer.misuse.append("two rows have the id \(id)") }
      renderer.show(content(element), at: AnyHashable(id))
    }
  }
}

extension ForEach where ID == Data.Element.ID, Content: View, Data.Element: Identifiable {
  nonisolated public init(
    _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content
  ) {
    (self.data, self.content, id) = (data, content, { $0.id })
  }
}

extension ForEach where Content: View {
  nonisolated public init(
    _ data: Data, id: KeyPath<Data.Element, ID>,
    @ViewBuilder content: @escaping (Data.Element) -> Content
  ) {
    (self.data, self.content, self.id) = (data, content, { $0[keyPath: id] })
  }
}

/// A view that is shown again only if it differs from the last one.
public struct EquatableView<Content> where Content: Equatable, Content: View {
  public var content: Content
  nonisolated public init(content: Content) { self.content = content }
  @MainActor func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

extension EquatableView: View, Primitive {
  public typealias Body = Never
}

extension View where Self: Equatable {
  nonisolated public func equatable() -> EquatableView<Self> { EquatableView(content: self) }
}

@MainActor @preconcurrency public protocol ViewModifier {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
  typealias Content = _ViewModifier_Content<Self>
}

public struct _ViewModifier_Content<Modifier> where Modifier: ViewModifier {
  let view: any View
  nonisolated init(_ view: any View) { self.view = view }
  @MainActor func show(in renderer: Renderer) { renderer.show(view, at: 0) }
}

extension _ViewModifier_Content: View, Primitive {
  public typealias Body = Never
}

public struct ModifiedContent<Content, Modifier> {
  public var content: Content
  public var modifier: Modifier
  nonisolated public init(content: Content, modifier: Modifier) {
    (self.content, self.modifier) = (content, modifier)
  }
}

extension ModifiedContent: View where Content: View, Modifier: ViewModifier {
  public var body: Modifier.Body { modifier.body(content: _ViewModifier_Content(content)) }
}

extension View {
  nonisolated public func modifier<T>(_ modifier: T) -> ModifiedContent<Self, T> {
    ModifiedContent(content: self, modifier: modifier)
  }
}

/// A view whose content is shown in a changed way.
struct Changed<Content: View> {
  let content: Content
  let show: @MainActor (Renderer, Content) -> Void
  nonisolated init(_ content: Content, _ show: @escaping @MainActor (Renderer, Content) -> Void) {
    (self.content, self.show) = (content, show)
  }
  @MainActor func show(in renderer: Renderer) { show(renderer, content) }
}

extension Changed: View, Primitive {
  typealias Body = Never
}

/// Views for the canvas of Xcode.
@MainActor @preconcurrency public protocol PreviewProvider {
  associatedtype Previews: View
  @ViewBuilder @MainActor @preconcurrency static var previews: Previews { get }
}
