// The parts of SwiftUI that a program uses and that the stand-in lacks: nothing runs them on Linux.
// They are compiled together with the stand-in for Apple's platforms.
#if canImport(UIKit) && !os(watchOS)
  public import UIKit
#endif

@MainActor @preconcurrency public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

extension App {
  @MainActor @preconcurrency public static func main() {}
}

@MainActor @preconcurrency public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public enum SceneBuilder {
  public static func buildExpression<Content>(_ content: Content) -> Content
  where Content: Scene { content }
  public static func buildBlock<Content>(_ content: Content) -> Content
  where Content: Scene { content }
}

nonisolated public struct WindowGroup<Content>: Scene where Content: View {
  public typealias Body = Never
  public init(@ViewBuilder content: () -> Content) {}
  @MainActor @preconcurrency public var body: Never { preconditionFailure() }
}

#if canImport(UIKit) && !os(watchOS)
  @MainActor @preconcurrency @propertyWrapper
  public struct UIApplicationDelegateAdaptor<DelegateType>: DynamicProperty
  where DelegateType: NSObject, DelegateType: UIApplicationDelegate {
    public init(_ delegateType: DelegateType.Type = DelegateType.self) {}
    public var wrappedValue: DelegateType { preconditionFailure() }
  }
#endif

@MainActor @preconcurrency public struct NavigationStack<Data, Root> where Root: View {
  public init(@ViewBuilder root: () -> Root) where Data == NavigationPath {}
}

public struct NavigationPath {
  public init() {}
}

public struct NavigationLink<Label, Destination> where Label: View, Destination: View {
  nonisolated public init(
    _ titleKey: LocalizedStringKey, @ViewBuilder destination: () -> Destination
  ) where Label == Text {}
}

public struct List<SelectionValue, Content> where SelectionValue: Hashable, Content: View {
  nonisolated public init(@ViewBuilder content: () -> Content) where SelectionValue == Never {}
}

public struct Form<Content> where Content: View {
  nonisolated public init(@ViewBuilder content: () -> Content) {}
}

public struct Section<Parent, Content, Footer> {}

extension Section where Parent == Text, Content: View, Footer == EmptyView {
  nonisolated public init(_ titleKey: LocalizedStringKey, @ViewBuilder content: () -> Content) {}
}

public struct SecureField<Label> where Label: View {
  nonisolated public init(_ titleKey: LocalizedStringKey, text: Binding<String>)
  where Label == Text {}
}

extension NavigationStack: View { public var body: Never { preconditionFailure() } }
extension NavigationLink: View { public var body: Never { preconditionFailure() } }
extension List: View { public var body: Never { preconditionFailure() } }
extension Form: View { public var body: Never { preconditionFailure() } }
extension SecureField: View { public var body: Never { preconditionFailure() } }
extension Section: View where Parent: View, Content: View, Footer: View {
  public var body: Never { preconditionFailure() }
}

extension View {
  nonisolated public func navigationTitle(_ titleKey: LocalizedStringKey) -> some View { self }
}
