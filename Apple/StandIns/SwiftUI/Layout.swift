// Stacks, scroll views, and styles.

public struct HorizontalAlignment: Equatable, Sendable {
  let name: String
  public static let leading = HorizontalAlignment(name: "leading")
  public static let center = HorizontalAlignment(name: "center")
  public static let trailing = HorizontalAlignment(name: "trailing")
}

public struct VerticalAlignment: Equatable, Sendable {
  let name: String
  public static let top = VerticalAlignment(name: "top")
  public static let center = VerticalAlignment(name: "center")
  public static let bottom = VerticalAlignment(name: "bottom")
  public static let firstTextBaseline = VerticalAlignment(name: "firstTextBaseline")
  public static let lastTextBaseline = VerticalAlignment(name: "lastTextBaseline")
}

public struct Alignment: Equatable, Sendable {
  public var horizontal: HorizontalAlignment
  public var vertical: VerticalAlignment
  public init(horizontal: HorizontalAlignment, vertical: VerticalAlignment) {
    (self.horizontal, self.vertical) = (horizontal, vertical)
  }
  public static let center = Alignment(horizontal: .center, vertical: .center)
  public static let leading = Alignment(horizontal: .leading, vertical: .center)
  public static let trailing = Alignment(horizontal: .trailing, vertical: .center)
  public static let top = Alignment(horizontal: .center, vertical: .top)
  public static let bottom = Alignment(horizontal: .center, vertical: .bottom)
  public static let topLeading = Alignment(horizontal: .leading, vertical: .top)
}

public struct VStack<Content> where Content: View {
  let content: Content
  nonisolated public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) { self.content = content() }
  @MainActor func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

extension VStack: View, Primitive {
  public typealias Body = Never
}

public struct HStack<Content> where Content: View {
  let content: Content
  nonisolated public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) { self.content = content() }
  @MainActor func show(in renderer: Renderer) { renderer.showInOneLine(content) }
}

extension HStack: View, Primitive {
  public typealias Body = Never
}

public struct ZStack<Content> where Content: View {
  let content: Content
  nonisolated public init(
    alignment: Alignment = .center, @ViewBuilder content: () -> Content
  ) { self.content = content() }
  @MainActor func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

extension ZStack: View, Primitive {
  public typealias Body = Never
}

public struct LazyVStack<Content> where Content: View {
  let content: Content
  nonisolated public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    pinnedViews: PinnedScrollableViews = .init(), @ViewBuilder content: () -> Content
  ) { self.content = content() }
  @MainActor func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

extension LazyVStack: View, Primitive {
  public typealias Body = Never
}

public struct PinnedScrollableViews: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public struct Spacer {
  public var minLength: CGFloat?
  nonisolated public init(minLength: CGFloat? = nil) { self.minLength = minLength }
  @MainActor func show(in renderer: Renderer) {}
}

extension Spacer: View, Primitive {
  public typealias Body = Never
}

public struct Divider {
  nonisolated public init() {}
  @MainActor func show(in renderer: Renderer) {}
}

extension Divider: View, Primitive {
  public typealias Body = Never
}

public struct ScrollView<Content> where Content: View {
  public var content: Content
  nonisolated public init(
    _ axes: Axis.Set = .vertical, @ViewBuilder content: () -> Content
  ) { self.content = content() }
  @MainActor func show(in renderer: Renderer) { renderer.show(content, at: 0) }
}

extension ScrollView: View, Primitive {
  public typealias Body = Never
}

public enum Axis: Int8, CaseIterable, Sendable {
  case horizontal, vertical

  public struct Set: OptionSet, Sendable {
    public let rawValue: Int8
    public init(rawValue: Int8) { self.rawValue = rawValue }
    public static let horizontal = Set(rawValue: 1)
    public static let vertical = Set(rawValue: 2)
  }
}

public struct UnitPoint: Hashable, Sendable {
  public var x: CGFloat
  public var y: CGFloat
  public init(x: CGFloat, y: CGFloat) { (self.x, self.y) = (x, y) }
  public static let top = UnitPoint(x: 0.5, y: 0)
  public static let bottom = UnitPoint(x: 0.5, y: 1)
}

public enum Edge: Int8, CaseIterable, Sendable {
  case top, leading, bottom, trailing

  public struct Set: OptionSet, Sendable {
    public let rawValue: Int8
    public init(rawValue: Int8) { self.rawValue = rawValue }
    public static let top = Set(rawValue: 1)
    public static let leading = Set(rawValue: 2)
    public static let bottom = Set(rawValue: 4)
    public static let trailing = Set(rawValue: 8)
    public static let all: Set = [.top, .leading, .bottom, .trailing]
    public static let horizontal: Set = [.leading, .trailing]
    public static let vertical: Set = [.top, .bottom]
  }
}

public enum VerticalEdge: Int8, CaseIterable, Sendable { case top, bottom }

public enum TextAlignment: Hashable, CaseIterable, Sendable { case leading, center, trailing }

public enum Visibility: Hashable, CaseIterable, Sendable { case automatic, visible, hidden }

public protocol ShapeStyle: Sendable {}

public struct Color: Hashable, ShapeStyle {
  let name: String
  nonisolated init(name: String) { self.name = name }
  public static let red = Color(name: "red")
  public static let orange = Color(name: "orange")
  public static let green = Color(name: "green")
  public static let blue = Color(name: "blue")
  public static let primary = Color(name: "primary")
  public static let secondary = Color(name: "secondary")
  public static let accentColor = Color(name: "accentColor")
  @MainActor func show(in renderer: Renderer) {}
}

extension Color: View, Primitive {
  public typealias Body = Never
}

public struct HierarchicalShapeStyle: ShapeStyle {
  let level: Int
}

public struct TintShapeStyle: ShapeStyle {
  public init() {}
}

public struct BackgroundStyle: ShapeStyle {
  public init() {}
}

extension ShapeStyle where Self == HierarchicalShapeStyle {
  public static var primary: HierarchicalShapeStyle { HierarchicalShapeStyle(level: 1) }
  public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle(level: 2) }
  public static var tertiary: HierarchicalShapeStyle { HierarchicalShapeStyle(level: 3) }
  public static var quaternary: HierarchicalShapeStyle { HierarchicalShapeStyle(level: 4) }
}

extension ShapeStyle where Self == TintShapeStyle {
  public static var tint: TintShapeStyle { TintShapeStyle() }
}

extension ShapeStyle where Self == BackgroundStyle {
  public static var background: BackgroundStyle { BackgroundStyle() }
}

extension ShapeStyle where Self == Color {
  public static var red: Color { Color.red }
  public static var orange: Color { Color.orange }
  public static var green: Color { Color.green }
}

public protocol Shape: Sendable {}
public protocol InsettableShape: Shape {}

public struct RoundedRectangle: InsettableShape {
  public var cornerRadius: CGFloat
  nonisolated public init(cornerRadius: CGFloat, style: RoundedCornerStyle = .continuous) {
    self.cornerRadius = cornerRadius
  }
}

public enum RoundedCornerStyle: Sendable { case circular, continuous }

public struct FillStyle: Equatable, Sendable {
  public init(eoFill: Bool = false, antialiased: Bool = true) {}
}

extension InsettableShape where Self == RoundedRectangle {
  public static func rect(
    cornerRadius: CGFloat, style: RoundedCornerStyle = .continuous
  ) -> Self { RoundedRectangle(cornerRadius: cornerRadius, style: style) }
}

extension View {
  nonisolated public func padding(_ length: CGFloat) -> some View { self }
  nonisolated public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View {
    self
  }
  nonisolated public func frame(
    minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil,
    minHeight: CGFloat? = nil, idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil,
    alignment: Alignment = .center
  ) -> some View { self }
  nonisolated public func scaledToFit() -> some View { self }
  nonisolated public func font(_ font: Font?) -> some View { self }
  nonisolated public func monospacedDigit() -> some View { self }
  nonisolated public func lineLimit(_ number: Int?) -> some View { self }
  nonisolated public func lineLimit(_ limit: ClosedRange<Int>) -> some View { self }
  nonisolated public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { self }
  nonisolated public func fixedSize(horizontal: Bool, vertical: Bool) -> some View { self }
  nonisolated public func foregroundStyle<S>(_ style: S) -> some View where S: ShapeStyle { self }
  nonisolated public func background<S, T>(
    _ style: S, in shape: T, fillStyle: FillStyle = FillStyle()
  ) -> some View where S: ShapeStyle, T: InsettableShape { self }
  nonisolated public func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { self }
  nonisolated public func privacySensitive(_ sensitive: Bool = true) -> some View { self }
  nonisolated public func id<ID>(_ id: ID) -> some View where ID: Hashable {
    nonisolated(unsafe) let id = id
    return Changed(self) { $0.show($1, at: AnyHashable(id)) }
  }
  nonisolated public func overlay<V>(
    alignment: Alignment = .center, @ViewBuilder content: () -> V
  ) -> some View where V: View {
    let over = content()
    return Changed(self) {
      $0.show($1, at: 0)
      $0.show(over, at: 1)
    }
  }
  nonisolated public func safeAreaInset<V>(
    edge: VerticalEdge, alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> V
  ) -> some View where V: View {
    let inset = content()
    return Changed(self) {
      if edge == .top { $0.show(inset, at: 1) }
      $0.show($1, at: 0)
      if edge == .bottom { $0.show(inset, at: 1) }
    }
  }
}
